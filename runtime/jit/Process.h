/// Starts other programs, without a shell.
#pragma once

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace hector {

struct ProcessRequest {
  std::string program;  // a path
  std::vector<std::string> arguments;
  std::string folder;           // where it runs
  std::string temporaryFolder;  // its TMPDIR
  std::string outputPath;       // gets what it prints, added to what is there
};

/// Runs a program in the C locale, with nothing to read, and waits for its end. Returns its exit code, or 128 plus the
/// signal that ended it. Fails where it cannot be started, and where an interrupt is noted meanwhile
/// (`noteInterrupts`): the program and all that it started are stopped first.
Result<int> runProcess(const ProcessRequest &request);

/// The status of work that was stopped by a noted interrupt.
Status interrupted(const std::string &what);

}  // namespace hector
