/// From a plan to kernels that can be called: compiled here, or from a file. No MLIR.
#pragma once

#include "driver/Model.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Executor.h"
#include "runtime/exec/PlanFile.h"
#include "runtime/jit/Jit.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace hector {

/// Compiles the text of a plan, or finds what was compiled before. `flags` come after the usual ones.
Result<exec::KernelLookup> loadKernels(const exec::Plan &plan, const JitEvents &events = {},
                                       const std::vector<std::string> &flags = {});
/// The same for a device.
Result<std::shared_ptr<DeviceProgram>> loadKernels(const exec::Plan &plan, Device &device,
                                                   const JitEvents &events = {});

/// What is told the reason of something that is worth a note.
using NoteReason = std::function<void(const std::string &why)>;

/// How a model was bound and is to be compiled, as a plan file keeps it. The backend is the CPU unless it is set.
exec::PlanOrigin originOf(const Model &model, const language::Binding &binding);

/// Compiles a plan and adds what it was compiled by and for, so that it can be written to a file.
Result<exec::SavedPlan> compilePlan(std::shared_ptr<const exec::Plan> plan, exec::PlanOrigin origin,
                                    const JitEvents &events = {});
/// The same for GPUs of these architectures, such as 90. Where there is no NVRTC, the plan has its source and no code,
/// and `onNoCode` is told why.
Result<exec::SavedPlan> compileCudaPlan(std::shared_ptr<const exec::Plan> plan, exec::PlanOrigin origin,
                                        std::span<const int> architectures, const JitEvents &events = {},
                                        const NoteReason &onNoCode = {});

/// Why the code of a saved plan cannot be used here: it was made by another version of Hector, with other headers or
/// flags, or for another processor. Empty if it can be used.
std::string whyStale(const exec::CodeOrigin &made);
/// The same of a plan for GPUs and a device, which code of its major version and no later minor version fits.
std::string whyStale(const exec::SavedPlan &saved, const DeviceInfo &device);

/// A saved plan that is ready for a graph.
struct LoadedPlan {
  std::shared_ptr<const exec::Plan> plan;
  exec::KernelLookup kernels;
};
/// Loads the code of a saved plan. Where that does not fit this machine, or `wideIds` is not what the plan was made
/// for, the source is compiled instead, and `onRebuild` is told why. Fails if there is no compiler then, with what to
/// do.
Result<LoadedPlan> loadSavedPlan(const exec::SavedPlan &saved, bool wideIds, const JitEvents &events = {},
                                 const NoteReason &onRebuild = {});

/// The same for a device.
struct LoadedDevicePlan {
  std::shared_ptr<const exec::Plan> plan;
  std::shared_ptr<DeviceProgram> program;
};
Result<LoadedDevicePlan> loadSavedPlan(const exec::SavedPlan &saved, bool wideIds, Device &device,
                                       const JitEvents &events = {}, const NoteReason &onRebuild = {});

}  // namespace hector
