#include "runtime/machine/Machine.h"

#include "runtime/base/FolderTest.h"
#include "runtime/base/Setting.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

using namespace hector;

namespace {

constexpr const char *kGood = "name = \"mine\"\ntarget = \"gpu\"\nbandwidth = 1\ncacheBytes = 2\nlineBytes = 3\n"
                              "randomReads = 4\ncachedReads = 5\nproductRate = 6\nscalarRate = 7\nlaunch = 8\n";

/// `kGood` with one line replaced, or taken out where `line` is empty.
std::string with(const std::string &key, const std::string &line) {
  std::string text = kGood;
  const size_t begin = text.find(key + " = "), end = text.find('\n', begin) + 1;
  return text.replace(begin, end - begin, line.empty() ? "" : line + "\n");
}

std::string messageOf(const std::string &text) {
  auto machine = parseMachine(text, "m.toml");
  return machine ? "" : machine.status().message();
}

class MachineFilesTest : public FolderTest {};

}  // namespace

// Steps.

TEST(RoundFigureTest, TakesTheNearestStep) {
  EXPECT_EQ(roundFigure(10), 10);
  EXPECT_EQ(roundFigure(10.9), 10);
  EXPECT_EQ(roundFigure(11.1), 12);
  EXPECT_EQ(roundFigure(34'000), 30'000);
  EXPECT_EQ(roundFigure(36'000), 40'000);
  EXPECT_EQ(roundFigure(95), 100);
}

TEST(RoundFigureTest, StaysAtEveryStep) {
  for (int64_t power : {10, 100, 1'000'000})
    for (int64_t tenths : {10, 12, 15, 20, 25, 30, 40, 50, 60, 80})
      EXPECT_EQ(roundFigure(static_cast<double>(tenths * power / 10)), tenths * power / 10);
}

TEST(RoundFigureTest, GivesWholeNumbersFromOne) {
  EXPECT_EQ(roundFigure(1.2), 1);
  EXPECT_EQ(roundFigure(2.4), 2);
  EXPECT_EQ(roundFigure(7.2), 8);
  EXPECT_EQ(roundFigure(0.3), 1);
  EXPECT_EQ(roundFigure(0), 1);
  EXPECT_EQ(roundFigure(-5), 1);
}

// Reading.

TEST(ParseMachineTest, ReadsEveryFigure) {
  auto machine = parseMachine(kGood, "m.toml");
  ASSERT_TRUE(machine) << machine.status().message();
  EXPECT_EQ(*machine, (MachineDescription{"mine", MachineTarget::Gpu, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(ParseMachineTest, ReadsWhatTomlAllows) {
  std::string text = with("name", "  name='a \"b\" \\\\'# größe [ \" '");
  text += "\t\r\n# the end";
  auto machine = parseMachine(text, "m.toml");
  ASSERT_TRUE(machine) << machine.status().message();
  EXPECT_EQ(machine->name, "a \"b\" \\\\");
  EXPECT_EQ(parseMachine(with("name", R"(name = "\u00e4 \U0001F600 \"#\" \\ \t")"), "m.toml")->name,
            "ä 😀 \"#\" \\ \t");
  EXPECT_EQ(parseMachine(with("launch", "launch\t=  +12_345   # ns"), "m.toml")->launch, 12'345);
}

TEST(ParseMachineTest, NamesUnknownKeys) {
  EXPECT_EQ(messageOf(with("bandwidth", "bandwith = 1")),
            "m.toml:3: a machine has no `bandwith`; its keys are name, target, bandwidth, cacheBytes, lineBytes, "
            "randomReads, cachedReads, productRate, scalarRate and launch");
}

TEST(ParseMachineTest, NamesMissingKeys) {
  EXPECT_EQ(messageOf(with("launch", "")), "m.toml: `launch` is missing; add a line `launch = NUMBER` (to start a "
                                           "parallel loop and wait for its end, ns)");
  EXPECT_EQ(messageOf(with("target", "")), "m.toml: `target` is missing; add a line `target = \"cpu\"`");
  EXPECT_EQ(messageOf(""), "m.toml: `name` is missing; add a line `name = \"my machine\"`");
}

TEST(ParseMachineTest, NamesKeysThatAreSetTwice) {
  EXPECT_EQ(messageOf(std::string(kGood) + "bandwidth = 3\n"),
            "m.toml:11: `bandwidth` is set already in line 3; leave one of them out");
}

TEST(ParseMachineTest, RefusesOtherTypes) {
  for (const char *value :
       {"40.5", "4e1", "0x40", "040", "4_", "_4", "4__0", "\"40\"", "[1]", "true", "-", "2024-01-01"})
    EXPECT_EQ(messageOf(with("bandwidth", std::string("bandwidth = ") + value)),
              "m.toml:3: `bandwidth` is `" + std::string(value) +
                  "`; expected a whole number from 1 to 1000000000 (10^9 bytes/s)");
  for (const char *value : {"7", "mine", "\"mine", "mine\"", "\"a\\q\"", "\"\\u12\"", "\"\\ud800\"", "\"\"", "\"\\"})
    EXPECT_EQ(messageOf(with("name", std::string("name = ") + value)),
              "m.toml:1: `name` is `" + std::string(value) +
                  "`; expected 1 to 200 characters in quotes, such as \"my machine\"");
  EXPECT_EQ(messageOf(with("target", "target = cpu")),
            "m.toml:2: `target` is `cpu`; expected \"cpu\" or \"gpu\", in quotes");
}

TEST(ParseMachineTest, RefusesValuesOutOfRange) {
  EXPECT_EQ(messageOf(with("launch", "launch = 0")),
            "m.toml:10: `launch` is `0`; expected a whole number from 1 to 1000000000 (ns)");
  EXPECT_EQ(messageOf(with("cacheBytes", "cacheBytes = 1099511627777")),
            "m.toml:4: `cacheBytes` is `1099511627777`; expected a whole number from 1 to 1099511627776 (bytes)");
  EXPECT_EQ(messageOf(with("lineBytes", "lineBytes = 99999999999999999999")),
            "m.toml:5: `lineBytes` is `99999999999999999999`; expected a whole number from 1 to 1048576 (bytes)");
  EXPECT_EQ(messageOf(with("target", "target = \"tpu\"")),
            "m.toml:2: `target` is `\"tpu\"`; expected \"cpu\" or \"gpu\", in quotes");
}

TEST(ParseMachineTest, ShowsLinesThatAreNone) {
  for (const char *line : {"cacheBytes: 2", "cacheBytes", "= 2", "cacheBytes =", "cacheBytes = # 2", "[cache]"})
    EXPECT_EQ(messageOf(with("cacheBytes", line)),
              "m.toml:4: found `" + std::string(line) + "`; expected a line such as `bandwidth = 40`");
  EXPECT_EQ(messageOf(with("name", "name = \"a\" \"b\"")),
            "m.toml:1: found `name = \"a\" \"b\"`; expected a line such as `bandwidth = 40`");
}

TEST(ParseMachineTest, RefusesWhatIsNotText) {
  EXPECT_EQ(messageOf(with("name", "name = \"a\x01\"")), "m.toml:1: found the byte 01; expected text");
  EXPECT_EQ(messageOf(with("launch", "# \xff")), "m.toml:10: found the byte ff; expected UTF-8");
}

// Writing.

TEST(FormatMachineTest, IsReadAgain) {
  for (const char *name : {"plain", "with \"quotes\"", "back\\slash", "tab\t and line\n", "größe"}) {
    MachineDescription machine = {name, MachineTarget::Gpu, 1, 2, 3, 4, 5, 6, 7, 8};
    auto again = parseMachine(formatMachine(machine), "m.toml");
    ASSERT_TRUE(again) << again.status().message();
    EXPECT_EQ(*again, machine);
  }
}

TEST_F(MachineFilesTest, FilesAreReadAsWritten) {
  const MachineDescription machine = {"mine", MachineTarget::Cpu, 8, 7, 6, 5, 4, 3, 2, 1};
  ASSERT_TRUE(writeMachine(path("m.toml"), machine).isOk());
  auto again = readMachine(path("m.toml"));
  ASSERT_TRUE(again) << again.status().message();
  EXPECT_EQ(*again, machine);
}

// What is shipped.

TEST(ShippedMachinesTest, HaveTheDocumentedFigures) {
  ASSERT_EQ(shippedMachines().size(), 2u);
  EXPECT_EQ(shippedMachines()[0],
            (MachineDescription{"cpu", MachineTarget::Cpu, 40, 33554432, 64, 200, 800, 160, 40, 2000}));
  EXPECT_EQ(shippedMachines()[1],
            (MachineDescription{"h200", MachineTarget::Gpu, 4230, 62914560, 32, 100000, 110000, 100000, 30000, 2500}));
}

TEST(ShippedMachinesTest, AreFoundByName) {
  EXPECT_EQ(findMachine("h200")->target, MachineTarget::Gpu);
  EXPECT_EQ(*findMachine("cpu"), defaultMachine());
}

TEST(ShippedMachinesTest, OtherNamesAreRefused) {
  auto machine = findMachine("h2OO");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.status().message(), "there is no machine `h2OO`; expected cpu, h200, here (what `hector machine` "
                                        "measured), or a machine file");
}

// What is kept.

TEST(KeptMachineTest, PathFollowsTheEnvironment) {
  Setting home("HOME", "/h"), config("XDG_CONFIG_HOME", "/c");
  EXPECT_EQ(*keptMachinePath(), "/c/hector/machine.toml");
  EXPECT_EQ(*keptMachinePath(MachineTarget::Gpu), "/c/hector/gpu.toml");
  Setting relative("XDG_CONFIG_HOME", "c");
  EXPECT_EQ(*keptMachinePath(), "/h/.config/hector/machine.toml");
  Setting none("HOME", nullptr);
  EXPECT_FALSE(keptMachinePath());
}

TEST_F(MachineFilesTest, HereIsWhatWasKept) {
  Setting config("XDG_CONFIG_HOME", path("deep/config").c_str());
  auto missing = findMachine("here");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.status().message(), "this machine has not been measured: " + path("deep/config") +
                                            "/hector/machine.toml does not exist; run `hector machine`, which takes a "
                                            "few seconds");
  const MachineDescription machine = {"mine", MachineTarget::Cpu, 8, 7, 6, 5, 4, 3, 2, 1};
  ASSERT_TRUE(keepMachine(machine).isOk());
  EXPECT_EQ(*findMachine("here"), machine);
  struct stat info;
  for (const char *made : {"deep", "deep/config", "deep/config/hector"}) {
    ASSERT_EQ(::stat(path(made).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u) << made;
  }
}

TEST_F(MachineFilesTest, ProcessorAndGpuAreKeptApart) {
  Setting config("XDG_CONFIG_HOME", path("config").c_str());
  const MachineDescription cpu = {"mine", MachineTarget::Cpu, 8, 7, 6, 5, 4, 3, 2, 1};
  ASSERT_TRUE(keepMachine(cpu).isOk());
  auto missing = findMachine("here", MachineTarget::Gpu);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.status().message(), "this GPU has not been measured: " + path("config") +
                                            "/hector/gpu.toml does not exist; run `hector machine --backend cuda`, "
                                            "which takes a few seconds");
  const MachineDescription gpu = {"its GPU", MachineTarget::Gpu, 1, 2, 3, 4, 5, 6, 7, 8};
  ASSERT_TRUE(keepMachine(gpu).isOk());
  EXPECT_EQ(*findMachine("here", MachineTarget::Gpu), gpu);
  EXPECT_EQ(*findMachine("here"), cpu);
}

TEST_F(MachineFilesTest, AFolderThatCannotBeMadeIsNamed) {
  ASSERT_TRUE(writeMachine(path("file"), defaultMachine()).isOk());
  Setting config("XDG_CONFIG_HOME", path("file").c_str());
  EXPECT_EQ(keepMachine(defaultMachine()).message(),
            path("file") + ": cannot be created: File exists; set XDG_CONFIG_HOME to a folder that can be written, or "
                           "name a file");
}
