#include "runtime/base/Program.h"

#include "runtime/base/Memory.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>

namespace hector {

static int exitCode = 1;

/// Prints what the exception in flight means to the user. Takes no memory of its own.
static void explain() noexcept {
  try {
    throw;
  } catch (const OutOfMemory &failure) {
    std::fprintf(stderr, "error: out of memory: %zu bytes more are needed\n", failure.bytes());
  } catch (const std::bad_alloc &) {
    std::fputs("error: out of memory\n", stderr);
  } catch (const std::length_error &failure) {
    std::fprintf(stderr, "error: out of memory: more is needed than can be addressed (%s)\n", failure.what());
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "error: %s; this is a bug in Hector, please report it with the command\n", failure.what());
  } catch (...) {
    std::fputs("error: an unknown failure; this is a bug in Hector, please report it with the command\n", stderr);
  }
}

/// An exception that left a thread ends the program at once.
[[noreturn]] static void onTerminate() {
  if (std::current_exception()) {
    explain();
    std::_Exit(exitCode);
  }
  std::abort();
}

/// Whether all that was printed has arrived. A reader that closes the pipe early (`hector … | head`) has what it wants.
static bool isOutputWritten() {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout))
    return true;
  struct stat info;
  return ::fstat(STDOUT_FILENO, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
}

int runProgram(int (*body)(int, char **), int argc, char **argv, int machineFailure) {
  exitCode = machineFailure;
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(onTerminate);
  int code = machineFailure;
  try {
    code = body(argc, argv);
  } catch (...) {
    explain();
    return machineFailure;
  }
  if (code == 0 && !isOutputWritten()) {
    std::fputs("error: cannot write to standard output\n", stderr);
    return machineFailure;
  }
  return code;
}

}  // namespace hector
