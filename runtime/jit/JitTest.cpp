#include "runtime/jit/Jit.h"

#include "runtime/base/Interrupt.h"
#include "runtime/base/Memory.h"
#include "runtime/jit/Compiler.h"
#include "runtime/jit/JitFolderTest.h"

#include <csignal>
#include <thread>

using namespace hector;

namespace {

class JitTest : public JitFolderTest {
protected:
  void expectAnswer(const CodeRequest &request) {
    auto library = loadOrCompile(request, events());
    ASSERT_TRUE(library) << library.status().message();
    EXPECT_EQ(call(*library), 42);
  }
  std::string messageOf(const CodeRequest &request) {
    auto library = loadOrCompile(request, events());
    return library ? "" : library.status().message();
  }
};

// With the system's compiler.

TEST_F(JitTest, CompilesAndLoads) {
  CodeRequest changed = request();
  changed.flags = baseFlags();
  auto library = loadOrCompile(changed, events());
  ASSERT_TRUE(library) << library.status().message();
  EXPECT_EQ(call(*library), 42);
  EXPECT_EQ(library->find("question"), nullptr);
  changed.headers[0].text = "constexpr int kAnswer = 43;\n";
  auto other = loadOrCompile(changed, events());
  ASSERT_TRUE(other) << other.status().message();
  EXPECT_EQ(call(*other), 43);
  EXPECT_EQ(call(*library), 42);
  EXPECT_EQ(compileLines.size(), 2u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(JitTest, ErrorsAreShownAndTheirSourceIsKept) {
  CodeRequest wrong = request();
  wrong.main.text = "int a = b;\nint c = d;\nint e = f;\nint g = h;\n";
  auto library = loadOrCompile(wrong, events());
  ASSERT_FALSE(library);
  EXPECT_EQ(library.status().blame(), Blame::Machine);
  const std::string message = library.status().message();
  const std::vector<std::string> kept = cachedNames("");
  const auto failed = std::find_if(kept.begin(), kept.end(), [](auto &name) { return name.starts_with("failed-"); });
  ASSERT_NE(failed, kept.end()) << message;
  EXPECT_TRUE(message.starts_with(findCompiler()->title() + " could not compile the code of model (exit code 1)\n"))
      << message;
  for (const char *part : {"\n   model.cpp:1:9: error: ", "\n   model.cpp:3:9: error: ", "\n   and 1 more error\n"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_NE(message.find("\n   help: source and output of the compiler are in " + cached(*failed) + "; please report"),
            std::string::npos)
      << message;
  EXPECT_EQ(contents(cached(*failed) + "/source/model.cpp"), wrong.main.text);
  EXPECT_NE(contents(cached(*failed) + "/compiler.txt").find("model.cpp:4:9"), std::string::npos);
  EXPECT_EQ(kept.size(), 2u);  // and the compiler that was found
}

TEST_F(JitTest, TheCompilerIsStartedInAKnownEnvironment) {
  // The C locale, temporary files where they are removed, the user's variables, and nothing to read.
  Setting given("HECTOR_CXX", makeCompiler("[ \"$LC_ALL $TMPDIR $MINE\" = \"C ${PWD%/source} kept\" ] || exit 8\n"
                                           "read line && exit 9")
                                  .c_str());
  Setting locale("LC_ALL", "de_DE.UTF-8"), mine("MINE", "kept");
  expectAnswer(request());
}

// Finding code again.

TEST_F(JitTest, AWarmStartStartsNoProcess) {
  Setting given("HECTOR_CXX", makeCompiler().c_str()), home("HOME", folder.c_str());
  expectAnswer(request());
  EXPECT_EQ(compileLines, std::vector<std::string>{"compiling model with c++ 1.2.3 (first run; kept in ~/cache/code)"});
  EXPECT_EQ(takeRuns(), 3);
  expectAnswer(request());
  EXPECT_EQ(takeRuns(), 0);
  EXPECT_EQ(compileLines.size(), 1u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(JitTest, WhateverTheCodeDependsOnCounts) {
  Setting given("HECTOR_CXX", makeCompiler().c_str());
  auto recompiles = [&](const CodeRequest &request) {
    const size_t before = compileLines.size();
    expectAnswer(request);
    return compileLines.size() > before;
  };
  const CodeRequest base = request();
  EXPECT_TRUE(recompiles(base));
  EXPECT_FALSE(recompiles(base));
  std::vector<CodeRequest> variants(6, base);
  variants[0].main.text += "\n";
  variants[1].headers[0].text += "\n";
  variants[2].headers[0].name = "hector/question.hpp";
  variants[3].flags.emplace_back("-O1");
  variants[4].flags.emplace_back("-march=native");
  variants[5].headers.push_back({"hector/question.hpp", ""});
  for (size_t i = 0; i < variants.size(); ++i) {
    EXPECT_TRUE(recompiles(variants[i])) << i;
    EXPECT_FALSE(recompiles(variants[i])) << i;
  }
  // What it is called in messages does not.
  CodeRequest renamed = base;
  renamed.what = "another";
  EXPECT_FALSE(recompiles(renamed));
  // Another compiler.
  makeCompiler("# changed");
  EXPECT_FALSE(recompiles(base)) << "same path and version";
  std::filesystem::copy_file(path("c++"), path("g++"));
  Setting other("HECTOR_CXX", path("g++").c_str());
  EXPECT_TRUE(recompiles(base));
}

TEST_F(JitTest, DamagedCodeIsCompiledAgain) {
  Setting given("HECTOR_CXX", makeCompiler().c_str());
  expectAnswer(request());
  const std::string file = cached(cachedNames(".so").at(0)), whole = contents(file);
  for (const std::string &damaged :
       {whole.substr(0, whole.size() / 2), std::string(), std::string(whole).replace(64, 1, "?")}) {
    std::filesystem::remove(file);
    write(file, damaged);
    takeRuns();
    expectAnswer(request());
    EXPECT_EQ(takeRuns(), 1);
    EXPECT_EQ(contents(file), whole);
  }
}

TEST_F(JitTest, OneOfSeveralProcessesCompiles) {
  Setting given("HECTOR_CXX", makeCompiler("sleep 0.2").c_str());
  ASSERT_TRUE(findCompiler());
  takeRuns();
  std::vector<pid_t> processes;
  for (int i = 0; i < 5; ++i)
    processes.push_back(fork([&] { expectAnswer(request()); }));
  for (pid_t process : processes)
    expectSuccess(process);
  EXPECT_EQ(takeRuns(), 1);
  EXPECT_EQ(cachedNames("").size(), 2u);  // the code and the compiler
}

TEST_F(JitTest, OneOfSeveralThreadsCompiles) {
  Setting given("HECTOR_CXX", makeCompiler("sleep 0.1").c_str());
  ASSERT_TRUE(findCompiler());
  takeRuns();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      auto library = loadOrCompile(request());
      EXPECT_TRUE(library && call(*library) == 42);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(takeRuns(), 1);
}

TEST_F(JitTest, AnotherProcessTakesOverWhereOneIsKilled) {
  Setting given("HECTOR_CXX",
                makeCompiler("[ -e '" + path("once") + "' ] || { touch '" + path("once") + "'; sleep 9; }").c_str());
  ASSERT_TRUE(findCompiler());
  const pid_t first = fork([&] { (void)messageOf(request()); });
  while (!std::filesystem::exists(path("once")))
    ::usleep(1000);
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  ASSERT_EQ(::waitpid(first, nullptr, 0), first);
  expectAnswer(request());
}

TEST_F(JitTest, TheLimitIsKept) {
  Setting given("HECTOR_CXX", makeCompiler().c_str());
  expectAnswer(request());
  CodeRequest other = request();
  other.main.text += "\n";
  const std::string limit = std::to_string(std::filesystem::file_size(cached(cachedNames(".so").at(0))) * 3 / 2);
  Setting small("HECTOR_CACHE_LIMIT", limit.c_str());
  expectAnswer(other);
  EXPECT_EQ(cachedNames(".so").size(), 1u);
  expectAnswer(other);
  EXPECT_EQ(compileLines.size(), 2u);
  // Code that does not fit at all still runs.
  Setting none("HECTOR_CACHE_LIMIT", "0");
  expectAnswer(request());
  EXPECT_TRUE(cachedNames("").empty());
  Setting wrong("HECTOR_CACHE_LIMIT", "a lot");
  expectAnswer(request());
  EXPECT_EQ(warnings, std::vector<std::string>{std::string("HECTOR_CACHE_LIMIT is `a lot`; expected ") + kByteForms +
                                               ", from 0 to 1024G, such as 500M or 2G"});
}

// Where nothing can be kept.

TEST_F(JitTest, AnUnsafeCacheIsNotUsed) {
  Setting given("HECTOR_CXX", makeCompiler().c_str());
  std::filesystem::create_directory(path("cache"));
  ASSERT_EQ(::chmod(path("cache").c_str(), 0777), 0);
  expectAnswer(request());
  EXPECT_EQ(compileLines, std::vector<std::string>{"compiling model with c++ 1.2.3 (not kept)"});
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].starts_with("compiled code is not kept: " + path("cache") + ": not safe")) << warnings[0];
  EXPECT_TRUE(std::filesystem::is_empty(path("cache")));
}

TEST_F(JitTest, AReadOnlyCacheIsReadOnly) {
  Setting given("HECTOR_CXX", makeCompiler().c_str());
  expectAnswer(request());
  takeRuns();
  ASSERT_EQ(::chmod(cached().c_str(), 0500), 0);
  compileLines.clear();
  asOrdinaryUser([&] {
    expectAnswer(request());
    EXPECT_TRUE(compileLines.empty());
    EXPECT_TRUE(warnings.empty());
    CodeRequest other = request();
    other.main.text += "\n";
    expectAnswer(other);
    EXPECT_EQ(compileLines, std::vector<std::string>{"compiling model with c++ 1.2.3 (not kept)"});
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_TRUE(warnings[0].starts_with("compiled code is not kept: " + cached())) << warnings[0];
  });
  ASSERT_EQ(::chmod(cached().c_str(), 0700), 0);
}

TEST_F(JitTest, AFullDiskIsNoObstacle) {
  const std::string full =
      "case $PWD in */cache/*) echo 'as: error: out of disk: No space left on device' >&2; exit 1;; esac";
  Setting given("HECTOR_CXX", makeCompiler(full).c_str());
  expectAnswer(request());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(warnings[0].ends_with(": No space left on device")) << warnings[0];
  EXPECT_EQ(compileLines.size(), 1u);
  EXPECT_EQ(cachedNames("").size(), 1u);  // the compiler
}

TEST_F(JitTest, ErrorsWithoutACacheKeepTheirSource) {
  Setting given("HECTOR_CXX", makeCompiler("exit 3").c_str()), none("HECTOR_CACHE", "relative");
  const std::string message = messageOf(request());
  EXPECT_TRUE(message.starts_with("c++ 1.2.3 could not compile the code of model (exit code 3)\n   help: ")) << message;
  const std::filesystem::path kept = std::filesystem::directory_iterator(path("tmp"))->path();
  EXPECT_NE(message.find(kept.string()), std::string::npos) << message;
  EXPECT_TRUE(std::filesystem::exists(kept / "source/hector/answer.hpp"));
  std::filesystem::remove_all(kept);
}

// Others.

TEST_F(JitTest, CodeTravelsAsBytes) {
  Setting given("HECTOR_CXX", makeCompiler().c_str());
  auto code = findOrCompile(request());
  ASSERT_TRUE(code) << code.status().message();
  const std::vector<std::byte> bytes(code->bytes.begin(), code->bytes.end());
  EXPECT_EQ(bytes.size(), std::filesystem::file_size(path("module.so")));
  auto library = loadCode(bytes);
  ASSERT_TRUE(library) << library.status().message();
  EXPECT_EQ(call(*library), 42);
}

TEST_F(JitTest, CodeThatIsCutOffIsNotLoaded) {
  Setting given("HECTOR_CXX", makeCompiler().c_str());
  auto code = findOrCompile(request());
  ASSERT_TRUE(code) << code.status().message();
  for (size_t size : {size_t{0}, size_t{8}, size_t{63}, size_t{64}, size_t{200}, code->bytes.size() / 2}) {
    auto broken = loadCode(code->bytes.first(size));
    ASSERT_FALSE(broken) << size;
    EXPECT_EQ(broken.status().message(),
              "compiled code cannot be loaded: it is no library, or a part of it is missing");
  }
}

TEST_F(JitTest, NamesStayInTheFolder) {
  for (const char *name : {"", "/etc/passwd", "../x.hpp", "a/../x.hpp", "-x.hpp", "a/"}) {
    CodeRequest odd = request();
    odd.headers[0].name = name;
    EXPECT_EQ(messageOf(odd), "cannot include a file called `" + std::string(name) + "`; expected a relative path");
  }
}

TEST_F(JitTest, AnInterruptStopsTheCompiler) {
  Setting given("HECTOR_CXX", makeCompiler("sleep 60 & echo $! > '" + path("sleeper") + "'; wait").c_str());
  ASSERT_TRUE(findCompiler());
  const pid_t process = fork([&] {
    noteInterrupts();
    EXPECT_EQ(messageOf(request()), "compiling model: interrupted");
  });
  while (contents(path("sleeper")).empty())
    ::usleep(1000);
  ASSERT_EQ(::kill(process, SIGINT), 0);
  expectSuccess(process);
  EXPECT_EQ(cachedNames("").size(), 1u);  // the compiler
  // What it started is gone, or waits for whoever inherits it to notice.
  std::string sleeper = contents(path("sleeper"));
  sleeper.pop_back();
  std::string state;
  for (int i = 0; i < 100 && state.find(") Z ") == std::string::npos; ++i) {
    state = contents("/proc/" + sleeper + "/stat");
    if (state.empty())
      break;
    ::usleep(10'000);
  }
  EXPECT_TRUE(state.empty() || state.find(") Z ") != std::string::npos) << state;
}

}  // namespace
