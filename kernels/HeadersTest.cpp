#include "kernels/Headers.h"

#include <gtest/gtest.h>

#include <algorithm>
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

struct Headers {
  const char *title;
  std::span<const EmbeddedFile> (*files)();
  const char *folder;
};

class EmbeddedHeaders : public testing::TestWithParam<Headers> {
protected:
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const EmbeddedFile &file : GetParam().files())
      names.insert(std::string(file.name));
    return names;
  }
};

INSTANTIATE_TEST_SUITE_P(Of, EmbeddedHeaders,
                         testing::Values(Headers{"Cpu", cpuHeaders, "kernels/cpu"},
                                         Headers{"Cuda", cudaHeaders, "kernels/cuda"}),
                         [](const auto &info) { return info.param.title; });

TEST_P(EmbeddedHeaders, AreTheFilesOfTheRepository) {
  for (const EmbeddedFile &file : GetParam().files())
    EXPECT_EQ(file.text, textOf(std::filesystem::path(HECTOR_SOURCE_DIR) / file.name)) << file.name;
}

TEST_P(EmbeddedHeaders, AreAllThatTheFolderHas) {
  for (const std::string folder : {"kernels/common", GetParam().folder})
    for (const auto &entry : std::filesystem::directory_iterator(std::string(HECTOR_SOURCE_DIR "/") + folder))
      if (entry.path().extension() == ".hpp" || entry.path().extension() == ".cuh") {
        EXPECT_TRUE(names().count(folder + "/" + entry.path().filename().string())) << entry.path();
      }
}

TEST_P(EmbeddedHeaders, AreSorted) {
  auto files = GetParam().files();
  EXPECT_TRUE(std::is_sorted(files.begin(), files.end(), [](const auto &a, const auto &b) { return a.name < b.name; }));
}

// A folder with these files and nothing else is enough to compile generated code.
TEST_P(EmbeddedHeaders, IncludeNothingElseOfTheRepository) {
  for (const EmbeddedFile &file : GetParam().files()) {
    std::istringstream lines{std::string(file.text)};
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("#include \"")) {
        std::string name = line.substr(10, line.rfind('"') - 10);
        EXPECT_TRUE(names().count(name)) << file.name << " includes " << name;
      }
  }
}

}  // namespace
}  // namespace hector
