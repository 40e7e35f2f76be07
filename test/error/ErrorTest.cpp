/// What users meet: each `NAME.expected` is a command and everything that it must print, as in a terminal.
///
///   $ hector run NAME.hec --case good.safetensors --out out.safetensors
///   … what it prints …
///   exit 2
///
/// The command runs in a folder with `NAME.hec` (where there is one), `layer.hec` and the case files of
/// BrokenCases.cpp, and must leave nothing else there. HECTOR_REGEN=1 rewrites the output (and makes the file for a new
/// `NAME.hec`); read the difference before committing it.

#include "BrokenCases.h"
#include "test/Process.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace hector::test {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(HECTOR_SOURCE_DIR) / "test/error";

std::set<std::string> listing(const fs::path &folder) {
  std::set<std::string> names;
  for (const auto &entry : fs::recursive_directory_iterator(folder))
    names.insert(fs::relative(entry.path(), folder).string());
  return names;
}

/// One workspace serves all cases: none of them may change it.
Workspace &workspace() {
  static Workspace shared(HECTOR_PROGRAM);
  static bool isFilled = [] {
    writeCases(shared.folder());
    fs::copy_file(kFolder / "layer.hec", shared.folder() / "layer.hec");
    fs::create_directory(shared.folder() / "folder");
    return true;
  }();
  (void)isFilled;
  return shared;
}

/// The folders' cases: `group/NAME`.
std::vector<std::string> findCases() {
  std::set<std::string> names;
  for (const char *group : {"cases", "commands", "models"})
    for (const auto &entry : fs::directory_iterator(kFolder / group))
      if (entry.path().extension() == ".expected" || entry.path().extension() == ".hec")
        names.insert(std::string(group) + "/" + entry.path().stem().string());
  return {names.begin(), names.end()};
}

class ErrorTest : public testing::TestWithParam<std::string> {};

TEST_P(ErrorTest, SaysWhatIsWrong) {
  fs::path stem = kFolder / GetParam();
  std::string name = stem.filename().string();
  fs::path model = stem.string() + ".hec", expectedPath = stem.string() + ".expected";
  std::string expected = readText(expectedPath);
  bool isRegen = std::getenv("HECTOR_REGEN") != nullptr;
  std::string command = "hector run " + name + ".hec --case good.safetensors --out out.safetensors";
  if (expected.starts_with("$ "))
    command = expected.substr(2, expected.find('\n') - 2);
  else
    ASSERT_TRUE(isRegen) << expectedPath << " does not start with `$ COMMAND`";

  fs::path folder = workspace().folder();
  if (fs::exists(model))
    fs::copy_file(model, folder / model.filename(), fs::copy_options::overwrite_existing);
  std::set<std::string> before = listing(folder);
  Outcome outcome = workspace().run(command);
  EXPECT_EQ(listing(folder), before) << "the command left something behind";
  if (fs::exists(model))
    fs::remove(folder / model.filename());

  std::string actual = "$ " + command + "\n" + outcome.output + "exit " + std::to_string(outcome.exitCode) + "\n";
  EXPECT_TRUE(outcome.exitCode == 1 || outcome.exitCode == 2) << actual;
  if (isRegen)
    writeText(expectedPath, actual);
  else
    EXPECT_EQ(actual, expected);
}

std::string testName(const testing::TestParamInfo<std::string> &info) {
  std::string name = info.param;
  std::replace_if(name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Cases, ErrorTest, testing::ValuesIn(findCases()), testName);

// The cases above mean something only if what they break works when it is whole.
TEST(ErrorTestCases, TheGoodCaseRuns) {
  Outcome outcome =
      workspace().run("hector run layer.hec --case good.safetensors --out ../out.safetensors --backend interp");
  EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
}

}  // namespace
}  // namespace hector::test
