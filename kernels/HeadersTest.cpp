#include "kernels/Headers.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace hector {
namespace {

std::string textOf(const std::filesystem::path &path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(CpuHeaders, AreTheFilesOfTheRepository) {
  for (const EmbeddedFile &file : cpuHeaders())
    EXPECT_EQ(file.text, textOf(std::filesystem::path(HECTOR_SOURCE_DIR) / file.name)) << file.name;
}

TEST(CpuHeaders, AreAllThatTheFolderHas) {
  std::set<std::string> names;
  for (const EmbeddedFile &file : cpuHeaders())
    names.insert(std::string(file.name));
  for (const auto &entry : std::filesystem::directory_iterator(HECTOR_SOURCE_DIR "/kernels/cpu"))
    if (entry.path().extension() == ".hpp") {
      EXPECT_TRUE(names.count("kernels/cpu/" + entry.path().filename().string())) << entry.path();
    }
}

// A folder with these files and nothing else is enough to compile generated code.
TEST(CpuHeaders, IncludeNothingElseOfTheRepository) {
  std::set<std::string> names;
  for (const EmbeddedFile &file : cpuHeaders())
    names.insert(std::string(file.name));
  for (const EmbeddedFile &file : cpuHeaders()) {
    std::istringstream lines{std::string(file.text)};
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("#include \"")) {
        std::string name = line.substr(10, line.rfind('"') - 10);
        EXPECT_TRUE(names.count(name)) << file.name << " includes " << name;
      }
  }
}

}  // namespace
}  // namespace hector
