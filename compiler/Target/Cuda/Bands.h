/// Loops that share a launch: each has a band of the grid's blocks.
#pragma once

#include "compiler/Target/Cpp/Writer.h"
#include "runtime/exec/Plan.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace hector {

struct Parameter {
  std::string type, name;
  bool isAlone = true;  // nothing else leads to what it points to; a kernel may rely on that

  std::string text() const { return type + (isAlone ? "__restrict__ " : "") + name; }
};
/// Those of a kernel, but for the sizes: tables that are read, tables that are written, buffers, index arrays, totals.
using Parameters = std::vector<Parameter>;

/// What stands before the parameters of a kernel: `extern "C" … SYMBOL(`.
std::string kernelHead(const std::string &symbol, int threads, int blocks = 1);

/// The kernel of a shared launch.
struct BandsKernel {
  struct Band {
    std::string kernel;              // the symbol that it has where it is launched alone
    std::vector<size_t> parameters;  // of the shared launch: one for each of the kernel's own
    bool hasTotals = false;
  };
  std::string symbol;
  std::vector<Band> bands;
  std::vector<std::string> tables;  // names of the first parameters, as the plan has them
  exec::DeviceLaunch device;
};

/// Has steps of a plan share a launch with the step before them, where `isBeside` says that they may and neither their
/// blocks differ nor does one read what another writes. Plans keep the order of their loops.
std::vector<BandsKernel> shareLaunches(exec::Plan &plan, const std::vector<bool> &isBeside, const std::string &prefix);

/// The symbol of a kernel's function that is called in a band, and of the one that joins its totals.
std::string bandSymbol(const std::string &kernel);

/// What is known of a kernel that is called in bands.
struct BandFacts {
  Parameters parameters;
  std::string lines;  // of the model: "rgat.hec:5, 7"; may be empty
};

/// Writes the kernel of a shared launch, and the join of all its totals. `facts` are by the kernels' symbols.
void writeBands(Writer &out, const BandsKernel &shared, const std::map<std::string, BandFacts> &facts);

}  // namespace hector
