/// Reads any text as a machine file. What is let through is within its bounds, and survives writing and reading.
#include "runtime/machine/Machine.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

using namespace hector;

static void require(bool condition) {
  if (!condition)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Result<MachineDescription> machine = parseMachine({reinterpret_cast<const char *>(data), size}, "input");
  if (!machine) {
    require(machine.status().message().starts_with("input:"));
    return 0;
  }
  for (const MachineFigure &figure : machineFigures())
    require((*machine).*figure.value >= figure.min && (*machine).*figure.value <= figure.max);
  Result<MachineDescription> again = parseMachine(formatMachine(*machine), "again");
  require(again && *again == *machine);
  return 0;
}
