/// Training of node classes: from a graph with labels to parameters and their accuracy.
///
/// The step (layers, loss, gradients, optimiser) is one compiled plan. Everything that is drawn depends on the seed and
/// the number of the epoch alone, so that a run gives the same bits again, and so does one that was stopped and
/// continued.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/device/Tuning.h"
#include "runtime/graph/GraphFile.h"
#include "runtime/machine/Machine.h"
#include "training/Checkpoint.h"
#include "training/Config.h"
#include "training/History.h"
#include "training/Metrics.h"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hector::training {

struct TrainOptions {
  Config config;
  std::optional<Checkpoint> resume;           // continues from here
  std::string checkpointPath;                 // empty: nothing is kept
  int64_t memoryLimit = 0;                    // bytes; 0: what the machine has
  Device *device = nullptr;                   // of the backend that the configuration names; null: the CPU
  MachineDescription machine = defaultGpu();  // that plans for the device are chosen for
  exec::TuningNote onTuned = {};  // launches on the device are started in the fastest way, and this is told which
};

/// How a run is told about.
struct TrainEvents {
  std::function<void(const std::string &line)> onNote;
  /// Before the first step: what the stack is made of.
  std::function<void(const std::vector<std::string> &description, int64_t numParameters)> onStart;
  std::function<void()> onReady;  // all is compiled
  std::function<void(const EpochRecord &record)> onEpoch;
};

enum class StopReason : uint8_t { Done, Patience, Interrupted, Diverged };

struct TrainResult {
  Checkpoint checkpoint;  // as it was last written, or would have been; if `Diverged`, with the last loss
  StopReason reason = StopReason::Done;
  int64_t stoppedAt = 0;                  // the epoch
  bool isSaved = false;                   // this run has written its file
  std::map<std::string, double> metrics;  // of the chosen parameters: "test.accuracy", "test.macro_f1" …
  std::optional<Confusion> confusion;     // of the test nodes, unless there are too many classes for a table
  double majority = 0;                    // share of the test nodes that are of the class most frequent in training
  double secondsPerEpoch = 0;             // the median
  int64_t planBytes = 0;                  // that plans take besides inputs, those of predictions included
};

/// Trains. Fails for what a user or the machine can fix. A loss that is no number any more is no failure: the run ends
/// with `Diverged`, and the last checkpoint stays as it is.
Result<TrainResult> trainClasses(const GraphFile &graph, const TrainOptions &options, const TrainEvents &events = {});

/// What parameters rely on in a graph, without hashes of what only a continued run compares.
GraphFacts factsOf(const GraphFile &graph);
/// A hash of ends and types of all edges.
std::string hashEdges(const Graph &graph);
/// A hash of numbers and how many there are.
std::string hashNumbers(std::span<const int64_t> numbers);

}  // namespace hector::training
