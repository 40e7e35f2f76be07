/// What executors of a plan share. For DevicePlan.cpp and DeviceExecutor.cpp.
#pragma once

#include "runtime/device/DeviceExecutor.h"
#include "runtime/device/DeviceTransfer.h"
#include "runtime/exec/Pieces.h"
#include "runtime/exec/Session.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace hector::exec {

/// Whether launches of recordings may run side by side.
bool hasBranches(const DeviceExecOptions &options, const GraphNumbers &numbers);

struct DevicePlan::State {
  Session session;  // that those of executors start as
  std::shared_ptr<DeviceProgram> program;
  Device &device;
  DeviceExecOptions options;
  std::vector<Pieces> pieces;  // of each launch
  DeviceMemory formMemory;
  std::map<Form, const std::byte *> forms;  // where each lies in `formMemory`
  bool hasDropout = true;                   // whether kernels may read random numbers
  // With `isInPlace`.
  std::vector<bool> isOutside;              // of each table: an output in the caller's memory
  std::map<int, DeviceMemory> graphTables;  // that the graph phase has filled
  bool isGraphDone = false;
  std::vector<int64_t> copyOffset;  // of each input: where its copy lies in what is lent; -1: read where it is
  std::vector<Storage> given;       // the type of each input there
  int64_t workBytes = 0;
  std::unique_ptr<DeviceTransfer> transfer;  // null where nothing is copied

  State(Session session, std::shared_ptr<DeviceProgram> program, Device &device, const DeviceExecOptions &options)
      : session(std::move(session)), program(std::move(program)), device(device), options(options) {}

  Status uploadForms(const Graph &graph);
  Status prepareInPlace();
  Status runGraphPhase(const std::shared_ptr<const DevicePlan> &plan);
};

}  // namespace hector::exec
