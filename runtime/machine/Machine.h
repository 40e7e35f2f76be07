/// What a machine can do, in the few figures that the compiler chooses by.
///
/// All rates are those of the whole machine, with all its cores at work. Figures are coarse: a measurement is rounded
/// to steps of about 20 %, so that measuring again rarely changes a choice. They never change what is computed, only
/// the order of work and what is kept, and so results but for rounding.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hector {

enum class MachineTarget { Cpu, Gpu };

struct MachineDescription {
  std::string name;
  MachineTarget target = MachineTarget::Cpu;
  int64_t bandwidth = 0;    // memory, reads and writes together, 10^9 bytes/s
  int64_t cacheBytes = 0;   // the largest cache
  int64_t lineBytes = 0;    // the least that is read from memory: a cache line, a sector on a GPU
  int64_t randomReads = 0;  // single numbers (4 bytes) from random places of a table much larger than the cache, 10^6/s
  int64_t cachedReads = 0;  // the same of a table that fits in the cache
  int64_t productRate = 0;  // multiplications and additions of f32 matrix products, 10^9/s
  int64_t scalarRate = 0;   // other operations on rows, some exp among them, 10^9/s
  int64_t launch = 0;       // ns to start a parallel loop on all cores and to wait for its end

  bool operator==(const MachineDescription &) const = default;
};

/// "cpu" or "gpu".
std::string_view targetName(MachineTarget target);

/// One of the numbers of a description, for code that reads, writes or shows them all.
struct MachineFigure {
  std::string_view key;
  int64_t MachineDescription::*value;
  int64_t min, max;
  std::string_view unit;
  std::string_view meaning;
};
std::span<const MachineFigure> machineFigures();

/// The step that is nearest to `value`: 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times a power of ten, and whole. At
/// least 1.
int64_t roundFigure(double value);

/// Reads a description in TOML. Every key must be there, and no other. Messages name `file` and the line.
Result<MachineDescription> parseMachine(std::string_view text, const std::string &file);
/// The description as the text of a machine file, which `parseMachine` reads.
std::string formatMachine(const MachineDescription &machine);

Result<MachineDescription> readMachine(const std::string &path);
/// Writes a machine file; `path` holds the old contents or the new, whatever happens.
Status writeMachine(const std::string &path, const MachineDescription &machine);

/// The descriptions that come with Hector, `cpu` first.
std::span<const MachineDescription> shippedMachines();
/// The fixed default, `cpu`.
const MachineDescription &defaultMachine();
/// The fixed default where plans are for a GPU, `h200`.
const MachineDescription &defaultGpu();

/// Where the measured description of this machine is kept, in $XDG_CONFIG_HOME or ~/.config: `hector/machine.toml` for
/// the processor, and `hector/gpu.toml` for the GPU.
Result<std::string> keptMachinePath(MachineTarget target = MachineTarget::Cpu);
/// Writes the description where those of its target are kept; the folders are created, for their owner only, where they
/// are missing.
Status keepMachine(const MachineDescription &machine);

/// What `--machine` means: a name of `shippedMachines`, `here` for the measured one of `target`, or a machine file.
Result<MachineDescription> findMachine(const std::string &nameOrFile, MachineTarget target = MachineTarget::Cpu);

}  // namespace hector
