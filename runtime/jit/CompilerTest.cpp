#include "runtime/jit/Compiler.h"

#include "runtime/jit/JitFolderTest.h"

using namespace hector;

namespace {

class CompilerTest : public JitFolderTest {
protected:
  static std::string messageOf() {
    auto compiler = findCompiler();
    return compiler ? "" : compiler.status().message();
  }
};

TEST_F(CompilerTest, TheSystemHasOne) {
  auto compiler = findCompiler();
  ASSERT_TRUE(compiler) << compiler.status().message();
  EXPECT_TRUE(std::filesystem::exists(compiler->path));
  EXPECT_FALSE(compiler->version.empty());
}

TEST_F(CompilerTest, TitlesAreShort) {
  EXPECT_EQ((HostCompiler{"/usr/bin/g++", "g++ (Debian 12.2.0-14+deb12u1) 12.2.0"}.title()), "g++ 12.2.0");
  EXPECT_EQ((HostCompiler{"/usr/bin/c++", "Debian clang version 14.0.6"}.title()), "c++ 14.0.6");
  EXPECT_EQ((HostCompiler{"/opt/clang++", "clang version 19.1.7 (3ubuntu1 20240101)"}.title()), "clang++ 19.1.7");
  EXPECT_EQ((HostCompiler{"/opt/mine", "the best"}.title()), "mine");
}

TEST_F(CompilerTest, IsLookedUpOnThePath) {
  makeCompiler();
  Setting searched("PATH", ("relative::" + folder.string() + ":/usr/bin:/bin").c_str()), none("HECTOR_CXX", nullptr);
  auto compiler = findCompiler();
  ASSERT_TRUE(compiler) << compiler.status().message();
  EXPECT_EQ(compiler->path, path("c++"));
  EXPECT_EQ(compiler->version, "c++ (Fake 7) 1.2.3");
}

TEST_F(CompilerTest, TheNextIsTakenWhereOneFails) {
  makeCompiler();
  std::filesystem::rename(path("c++"), path("clang++"));
  makeScript("c++", "exit 1\n");
  Setting searched("PATH", (folder.string() + ":/bin").c_str()), none("HECTOR_CXX", nullptr);
  std::filesystem::remove(path("g++"));
  makeScript("g++", "exit 1\n");
  EXPECT_EQ(findCompiler()->path, path("clang++"));
}

TEST_F(CompilerTest, IsRememberedUntilItChanges) {
  Setting given("HECTOR_CXX", makeCompiler().c_str());
  ASSERT_EQ(messageOf(), "");
  EXPECT_EQ(takeRuns(), 2);  // its version, and a check
  ASSERT_EQ(messageOf(), "");
  EXPECT_EQ(takeRuns(), 0);
  makeCompiler("# changed");
  ASSERT_EQ(messageOf(), "");
  EXPECT_EQ(takeRuns(), 2);
}

TEST_F(CompilerTest, IsFoundWithoutACache) {
  Setting given("HECTOR_CXX", makeCompiler().c_str()), none("HECTOR_CACHE", "relative");
  EXPECT_EQ(messageOf(), "");
}

TEST_F(CompilerTest, NoneIsAnError) {
  Setting searched("PATH", path("tmp").c_str()), none("HECTOR_CXX", nullptr);
  EXPECT_EQ(messageOf(), "there is no C++ compiler: c++, g++ and clang++ are not on the PATH; install one (apt-get "
                         "install g++), or name one in HECTOR_CXX");
}

TEST_F(CompilerTest, OneThatIsNamedMustExist) {
  Setting given("HECTOR_CXX", "/nowhere/g++");
  EXPECT_EQ(messageOf(), "HECTOR_CXX is `/nowhere/g++`, and there is no such program; expected a C++ compiler, such as "
                         "g++");
  // It is the name of a program, not a command line.
  Setting flags("HECTOR_CXX", "c++ -m32");
  EXPECT_EQ(messageOf(),
            "HECTOR_CXX is `c++ -m32`, and there is no such program; expected a C++ compiler, such as g++");
}

TEST_F(CompilerTest, OneThatIsNamedMustWork) {
  Setting no("HECTOR_CXX", makeScript("no", "exit 1\n").c_str());
  EXPECT_EQ(messageOf(),
            "HECTOR_CXX is not a C++ compiler that works: " + path("no") + ": cannot compile a small C++20 source");
  Setting old("HECTOR_CXX", makeScript("old", "echo \"c++: error: unknown option $1\" >&2; exit 1\n").c_str());
  EXPECT_EQ(messageOf(), "HECTOR_CXX is not a C++ compiler that works: " + path("old") +
                             ": cannot compile a small C++20 source\n   c++: error: unknown option -std=c++20");
}

TEST_F(CompilerTest, FlagsAreForASharedObject) {
  const std::vector<std::string> flags = baseFlags(),
                                 plain = {"-x", "c++", "-std=c++20", "-shared", "-fPIC", "-O3", "-march=native"};
  ASSERT_GE(flags.size(), plain.size());
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), flags.begin()));
#ifdef __SANITIZE_ADDRESS__
  EXPECT_TRUE(std::any_of(flags.begin(), flags.end(), [](const std::string &flag) {
    return flag.starts_with("-fsanitize=") && flag.find("address") != std::string::npos;
  }));
#endif
}

}  // namespace
