/// Measures RGCN, RGAT and HGT, forward and backward, on a GPU: whole steps, replayed, and each launch alone. Results
/// are compared first with the CPU's in f64, and with those of a second run bit for bit.
///
///   device-bench --models FOLDER --device cuda|emulated [--only rgcn|rgat|hgt] [--precision highest|high]
///                [--runs NUMBER] [--width NUMBER] GRAPH...

#include "bench/Layers.h"
#include "bench/Measure.h"
#include "driver/Case.h"
#include "driver/Cuda.h"
#include "runtime/base/Program.h"
#include "runtime/device/CudaDevice.h"
#include "runtime/device/EmulatedDevice.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace hector;
using namespace hector::bench;
namespace fs = std::filesystem;

namespace {

constexpr const char *kModels[] = {"rgcn", "rgat", "hgt"};
constexpr double kTolerance = 1e-3;  // of the largest number; slopes of LeakyReLU may change sides

struct Measured {
  double step = 0;  // milliseconds, replayed
  double error = 0;
  bool isSame = false;  // a second run gave the same bits
  int64_t bytes = 0;
  std::vector<exec::DeviceExecutor::LaunchTime> launches;
};

Result<Program> import(const BoundLayer &bound, const Graph &graph, NumberType numbers, bool grad) {
  ProgramOptions options = {.numbers = numbers, .gradients = {}};
  if (grad)
    options.gradients.emplace();
  auto program = Program::import(bound.model, bound.binding, options);
  if (!program)
    return program;
  if (Status status = program->attachGraph(graph); !status.isOk())
    return status;
  return program;
}

/// What the CPU computes in f64.
Result<Numbers> judge(const BoundLayer &bound, const Graph &graph, bool grad) {
  auto program = import(bound, graph, NumberType::F64, grad);
  if (!program)
    return program.status();
  auto planned = planFor(*program, graph, {});
  if (!planned)
    return planned.status();
  auto inputs = bindInputs(*planned->plan, graph, makeInputs(*planned->plan, bound, graph));
  if (!inputs)
    return inputs.status();
  auto kernels = loadKernels(*planned->plan);
  if (!kernels)
    return kernels.status();
  auto executor = exec::Executor::create(planned->plan, std::move(*kernels), graph);
  if (!executor)
    return executor.status();
  for (const NamedTensor &tensor : *inputs)
    if (Status status = executor->setInput(tensor.name, tensor.tensor); !status.isOk())
      return status;
  if (Status status = executor->runAll(); !status.isOk())
    return status;
  return numbersOf(*executor, *planned->plan);
}

Result<Measured> measure(const BoundLayer &bound, const Graph &graph, bool grad, Device &device,
                         cuda::Precision precision, int runs) {
  auto expected = judge(bound, graph, grad);
  if (!expected)
    return expected.status();
  auto program = import(bound, graph, NumberType::F32, grad);
  if (!program)
    return program.status();
  auto planned = planForDevice(*program, graph, {.precision = precision});
  if (!planned)
    return planned.status();
  auto kernels = loadKernels(*planned->plan, device);
  if (!kernels)
    return kernels.status();
  auto inputs = bindInputs(*planned->plan, graph, makeInputs(*planned->plan, bound, graph));
  if (!inputs)
    return inputs.status();
  const exec::Phase last = grad ? exec::Phase::Backward : exec::Phase::Forward;
  auto prepare = [&](const exec::DeviceExecOptions &options) -> Result<exec::DeviceExecutor> {
    auto executor = exec::DeviceExecutor::create(planned->plan, *kernels, device, graph, options);
    if (!executor)
      return executor;
    for (const NamedTensor &tensor : *inputs)
      if (Status status = executor->setInput(tensor.name, tensor.tensor); !status.isOk())
        return status;
    if (Status status = executor->runAll(); !status.isOk())
      return status;
    return executor;
  };
  Measured measured;
  {
    auto executor = prepare({.poison = true});
    if (!executor)
      return executor.status();
    auto first = numbersOf(*executor, *planned->plan);
    if (!first)
      return first.status();
    measured.error = distance(*first, *expected);
    if (Status status = executor->run(exec::Phase::Forward, last); !status.isOk())
      return status;
    auto second = numbersOf(*executor, *planned->plan);
    if (!second)
      return second.status();
    measured.isSame = *first == *second;
  }
  {
    auto executor = prepare({.isRecorded = true});
    if (!executor)
      return executor.status();
    auto run = [&] { return executor->run(exec::Phase::Forward, last).isOk(); };
    if (median(3, run) < 0)
      return Status::failed("a run fails");
    measured.step = median(runs, run);
    measured.bytes = executor->peakBytes();
  }
  auto executor = prepare({.isProfiled = true});
  if (!executor)
    return executor.status();
  std::vector<std::vector<double>> times;
  for (int i = 0; i < runs; ++i) {
    if (Status status = executor->run(exec::Phase::Forward, last); !status.isOk())
      return status;
    times.resize(executor->profile().size());
    for (size_t k = 0; k < times.size(); ++k)
      times[k].push_back(executor->profile()[k].ms);
  }
  for (size_t k = 0; k < times.size(); ++k) {
    std::nth_element(times[k].begin(), times[k].begin() + runs / 2, times[k].end());
    measured.launches.push_back({executor->profile()[k].label, times[k][static_cast<size_t>(runs) / 2]});
  }
  return measured;
}

int benchMain(int argc, char **argv) {
  std::map<std::string, std::string> options = {{"--device", "cuda"},       {"--models", ""}, {"--only", ""},
                                                {"--precision", "highest"}, {"--runs", "21"}, {"--width", "64"}};
  std::vector<std::string> graphs;
  bool isUsable = true;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    if (!word.starts_with("--"))
      graphs.push_back(word);
    else if (options.count(word) && i + 1 < argc)
      options[word] = argv[++i];
    else
      isUsable = false;
  }
  const cuda::Precision precision = precisionFromName(options["--precision"]);
  if (!isUsable || options["--models"].empty() || graphs.empty() || std::atoi(options["--runs"].c_str()) < 1) {
    std::fputs("usage: device-bench --models FOLDER --device cuda|emulated [--only rgcn|rgat|hgt]\n"
               "                    [--precision highest|high] [--runs NUMBER] [--width NUMBER] GRAPH...\n",
               stderr);
    return 2;
  }
  auto fail = [](const std::string &what, const Status &status) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), status.message().c_str());
    return 1;
  };
  std::unique_ptr<Device> device;
  if (options["--device"] == "emulated") {
    device = createEmulatedDevice();
  } else {
    auto made = createCudaDevice();
    if (!made)
      return fail("no GPU", made.status());
    device = std::move(*made);
  }
  const int runs = std::atoi(options["--runs"].c_str());
  std::printf("%s; rows of %s numbers (f32, precision %s), one head; medians of %d runs\n", device->info().name.c_str(),
              options["--width"].c_str(), options["--precision"].c_str(), runs);
  bool fine = true;
  for (const std::string &file : graphs)
    for (const char *name : kModels) {
      if (!options["--only"].empty() && options["--only"] != name)
        continue;
      auto bound = bindLayer((fs::path(options["--models"]) / (std::string(name) + ".hec")).string(),
                             std::atoll(options["--width"].c_str()));
      if (!bound)
        return fail(name, bound.status());
      auto graph = loadGraph(file, bound->model.signature);
      if (!graph)
        return fail(file, graph.status());
      for (bool grad : {false, true}) {
        auto measured = measure(*bound, *graph, grad, *device, precision, runs);
        const std::string what = fs::path(file).stem().string() + " " + name + (grad ? " training" : " inference");
        if (!measured) {
          fail(what, measured.status());
          fine = false;
          continue;
        }
        double sum = 0;
        for (const auto &launch : measured->launches)
          sum += launch.ms;
        const bool isRight = measured->error <= kTolerance && measured->isSame;
        fine &= isRight;
        std::printf("\n%-30s step %8.4f ms, launches %8.4f ms, error %.1e%s, %lld MiB%s\n", what.c_str(),
                    measured->step, sum, measured->error, measured->isSame ? "" : ", NOT THE SAME BITS",
                    static_cast<long long>(measured->bytes >> 20), isRight ? "" : "  WRONG");
        for (const auto &launch : measured->launches)
          std::printf("  %8.4f  %s\n", launch.ms, launch.label.c_str());
        std::fflush(stdout);
      }
    }
  return fine ? 0 : 1;
}

}  // namespace

int main(int argc, char **argv) {
  return runProgram(benchMain, argc, argv);
}
