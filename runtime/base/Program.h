/// What every program does around its own work.
#pragma once

namespace hector {

/// Exit codes: 0 fine, 1 the machine failed (disk, memory), 2 the user can fix it (model, files, options).
inline constexpr int kExitFine = 0;
inline constexpr int kExitMachine = 1;
inline constexpr int kExitUser = 2;

/// Runs `body` and gives the program's exit code. What nothing else caught (no memory left, a mistake of ours) becomes
/// a message and exit code `machineFailure`, on whatever thread it happens; so does output that could not be written.
/// A pipe that its reader closed, or a file that may not grow, shows in the result of a write and not in a signal.
int runProgram(int (*body)(int argc, char **argv), int argc, char **argv, int machineFailure = kExitMachine);

}  // namespace hector
