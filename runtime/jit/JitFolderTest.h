/// For tests that compile: a cache of their own, and compilers that do as they are told.
#pragma once

#include "runtime/base/FolderTest.h"
#include "runtime/base/Setting.h"
#include "runtime/jit/Cache.h"
#include "runtime/jit/Jit.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace hector {

class JitFolderTest : public FolderTest {
protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::filesystem::create_directory(path("tmp"));
    std::filesystem::copy_file(HECTOR_TEST_MODULE, path("module.so"));
    cacheSetting.emplace("HECTOR_CACHE", path("cache").c_str());
    limitSetting.emplace("HECTOR_CACHE_LIMIT", nullptr);
    temporarySetting.emplace("TMPDIR", path("tmp").c_str());
  }
  void TearDown() override {
    // Whatever a test did, no temporary file is left.
    EXPECT_TRUE(std::filesystem::is_empty(path("tmp")));
    temporarySetting.reset();
    FolderTest::TearDown();
  }

  std::string cached(const std::string &name = "") const {
    return path("cache/code") + (name.empty() ? "" : "/" + name);
  }
  /// The names in the cache that end as given.
  std::vector<std::string> cachedNames(const std::string &ending) const {
    std::vector<std::string> names;
    if (std::filesystem::exists(cached()))
      for (const auto &entry : std::filesystem::directory_iterator(cached()))
        if (entry.path().string().ends_with(ending))
          names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  void write(const std::string &file, const std::string &text) const { std::ofstream(file, std::ios::binary) << text; }
  std::string makeScript(const std::string &name, const std::string &body) const {
    write(path(name), "#!/bin/sh\n" + body);
    std::filesystem::permissions(path(name), std::filesystem::perms::owner_all);
    return path(name);
  }
  /// A compiler that counts its runs and makes a module with `answer` of everything. `before` are commands that a
  /// compilation runs first, but not that of `findCompiler`.
  std::string makeCompiler(const std::string &before = "") const {
    return makeScript("c++", "echo run >> '" + path("runs") +
                                 "'\n"
                                 "if [ \"$1\" = --version ]; then echo 'c++ (Fake 7) 1.2.3'; exit; fi\n"
                                 "while [ $# -gt 1 ]; do [ \"$1\" = -o ] && output=$2; shift; done\n"
                                 "[ \"$1\" = check.cpp ] || { :\n" +
                                 before + "\n}\ncp '" + path("module.so") + "' \"$output\"\n");
  }
  /// How often the compiler was started since this was asked.
  int64_t takeRuns() const {
    const std::string runs = contents(path("runs"));
    std::filesystem::remove(path("runs"));
    return std::count(runs.begin(), runs.end(), '\n');
  }

  static CodeRequest request() {
    return {{"model.cpp", "#include \"hector/answer.hpp\"\nextern \"C\" int answer() { return kAnswer; }\n"},
            {{"hector/answer.hpp", "constexpr int kAnswer = 42;\n"}},
            {"-x", "c++", "-std=c++20", "-shared", "-fPIC"},
            "model"};
  }
  static int call(const Library &library) {
    auto *function = reinterpret_cast<int (*)()>(library.find("answer"));
    return function ? function() : -1;
  }

  /// What `loadOrCompile` told.
  std::vector<std::string> compileLines, warnings;
  JitEvents events() {
    return {[this](const std::string &line) { compileLines.push_back(line); },
            [this](const std::string &line) { warnings.push_back(line); }};
  }

  /// Starts a process whose exit code is 0 if `body` has no failures.
  static pid_t fork(const std::function<void()> &body) {
    const pid_t process = ::fork();
    if (process == 0) {
      body();
      ::_exit(testing::Test::HasFailure() ? 1 : 0);
    }
    return process;
  }
  static void expectSuccess(pid_t process) {
    int status = -1;
    ASSERT_EQ(::waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
  }
  /// Runs `body` as a user to whom permissions apply, whoever runs the test.
  void asOrdinaryUser(const std::function<void()> &body) const {
    constexpr uid_t kNobody = 65534;
    const bool isRoot = ::geteuid() == 0;
    if (isRoot) {
      ASSERT_EQ(::chown(folder.c_str(), kNobody, kNobody), 0);
      for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
        ASSERT_EQ(::chown(entry.path().c_str(), kNobody, kNobody), 0);
    }
    expectSuccess(fork([&] {
      ASSERT_TRUE(!isRoot || (::setgid(kNobody) == 0 && ::setuid(kNobody) == 0));
      body();
    }));
  }

private:
  std::optional<Setting> cacheSetting, limitSetting, temporarySetting;
};

}  // namespace hector
