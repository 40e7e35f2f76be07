#include "runtime/base/Program.h"

#include "runtime/base/Memory.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace hector {
namespace {

/// Runs a body as a program of its own and ends it with its exit code. The process is a copy of this one without its
/// other threads, so nothing may wait for those on the way out.
[[noreturn]] void run(int (*body)(int, char **)) {
  std::_Exit(runProgram(body, 0, nullptr, /*machineFailure=*/7));
}

TEST(ProgramDeathTest, GivesTheExitCodeOfItsBody) {
  EXPECT_EXIT(run([](int, char **) { return 3; }), testing::ExitedWithCode(3), "^$");
}

TEST(ProgramDeathTest, NoMemoryIsAMessageWithTheSizeWhereItIsKnown) {
  EXPECT_EXIT(run([](int, char **) -> int { throwOutOfMemory(8192); }), testing::ExitedWithCode(7),
              "^error: out of memory: 8192 bytes more are needed\n$");
}

TEST(ProgramDeathTest, NoMemoryIsAMessage) {
  EXPECT_EXIT(run([](int, char **) -> int { throw std::bad_alloc(); }), testing::ExitedWithCode(7),
              "^error: out of memory\n$");
}

TEST(ProgramDeathTest, AListBeyondAllMemoryIsAMessage) {
  EXPECT_EXIT(run([](int, char **) -> int { throw std::length_error("vector"); }), testing::ExitedWithCode(7),
              "^error: out of memory: more is needed than can be addressed \\(vector\\)\n$");
}

TEST(ProgramDeathTest, OtherExceptionsAreBugsOfOurs) {
  EXPECT_EXIT(run([](int, char **) -> int { throw std::runtime_error("no such row"); }), testing::ExitedWithCode(7),
              "^error: no such row; this is a bug in Hector, please report it with the command\n$");
}

TEST(ProgramDeathTest, ThreadsAreCoveredToo) {
  EXPECT_EXIT(run([](int, char **) {
                std::thread([] { throw std::bad_alloc(); }).join();
                return 0;
              }),
              testing::ExitedWithCode(7), "^error: out of memory\n$");
}

TEST(ProgramDeathTest, OutputThatIsLostIsAFailure) {
  EXPECT_EXIT(run([](int, char **) {
                if (!std::freopen("/dev/full", "w", stdout))
                  return 1;
                std::puts("lost");
                return 0;
              }),
              testing::ExitedWithCode(7), "^error: cannot write to standard output\n$");
}

TEST(ProgramDeathTest, SignalsOfWritersAreIgnored) {
  EXPECT_EXIT(run([](int, char **) {
                std::raise(SIGXFSZ);
                std::raise(SIGPIPE);
                return 4;
              }),
              testing::ExitedWithCode(4), "^$");
}

}  // namespace
}  // namespace hector
