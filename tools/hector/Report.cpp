#include "Commands.h"

#include <cstdio>

namespace hector {

int report(const Status &status) {
  if (status.isLocated())
    std::fputs(status.message().c_str(), stderr);
  else
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return status.blame() == Blame::User ? kExitUser : kExitMachine;
}

}  // namespace hector
