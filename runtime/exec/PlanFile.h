/// Plans in files, with their model, their source and their compiled code, to be run later without a compiler.
///
/// A file is a text that says what is in it, then one section after the other (docs/plan-files.md):
///
///   hector plan 2
///   section plan 2312 6f1c…       the bytes that it has, and their hash
///   section code.cpu 90112 03ba…  or code.cuda.sm_90, once for each kind of GPU
///   checked 91d2…                 the hash of all lines above
///
/// Every byte is covered by a hash, so that damage is found before anything is used. Hashes do not tell who wrote a
/// file: its code is run, so plans are to be trusted like programs.
#pragma once

#include "runtime/base/Processor.h"
#include "runtime/base/Status.h"
#include "runtime/exec/Plan.h"
#include "runtime/exec/PlanText.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hector::exec {

/// What compiled code was made by and for. It fits where all of this is the same, and the processor has no less.
struct CodeOrigin {
  std::string version;             // of Hector
  std::string headers;             // the hash of all that the source includes: the layout of a kernel's arguments
  std::string compiler;            // for messages: "g++ 12.2.0"; empty where there was none
  std::vector<std::string> flags;  // of the compiler, but for the kind of GPU
  Processor processor = {};        // of code for a CPU

  bool operator==(const CodeOrigin &) const = default;
};

/// Machine code for one kind of GPU.
struct Cubin {
  int architecture = 0;  // 90 for sm_90
  std::span<const std::byte> code;
};

/// Code is valid as long as `owner` or a copy of it.
struct SavedPlan {
  std::shared_ptr<const Plan> plan;
  PlanOrigin origin;
  CodeOrigin made;
  std::span<const std::byte> code;  // of a plan for a CPU: a shared object
  std::vector<Cubin> cubins;        // of a plan for GPUs, by rising architecture; none where it was made without NVRTC
  std::shared_ptr<const void> owner;
};

/// Whether a file says that it is a plan. Its contents may be damaged all the same.
bool isPlanFile(const std::string &path);

/// Reads a file and checks all of it: hashes, then the contents of its sections, then the plan (`checkPlan`). Failures
/// name the file, and where in it something is wrong. The file may be of another version or for another processor.
Result<SavedPlan> readPlanFile(const std::string &path);
/// The same on bytes already in memory; `name` is what messages call them.
Result<SavedPlan> parsePlanFile(std::span<const std::byte> bytes, const std::string &name,
                                std::shared_ptr<const void> owner);

/// Writes to a temporary file beside `path`, syncs it and renames it.
Status writePlanFile(const std::string &path, const SavedPlan &saved);

struct PlanSection {
  std::string name;
  std::span<const std::byte> bytes;
};
/// The lines that a file with these sections starts with.
std::string planFileHead(std::span<const PlanSection> sections);

}  // namespace hector::exec
