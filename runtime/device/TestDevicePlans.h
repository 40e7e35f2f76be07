/// Plans for GPUs with kernels written by hand, for tests of the executor.
#pragma once

#include "runtime/device/DeviceExecutor.h"
#include "runtime/exec/TestPlans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hector::exec {

/// The kernels of `devicePlan` and `oneStep`. `Id` is declared before.
inline constexpr const char *kDeviceKernels = R"cuda(
#include "kernels/cuda/pieces.cuh"
using namespace hector::cuda;

__device__ int64_t endOf(int64_t piece, int64_t rows, const Sizes &sizes) {
  return (piece + 1) * sizes.grain < rows ? (piece + 1) * sizes.grain : rows;
}

extern "C" __global__ void in_degree(float *degree, const Id *starts, Sizes sizes) {
  for (int64_t n = threadInGrid(); n < sizes.rows[Node]; n += threadsInGrid())
    degree[n] = float(starts[n + 1] - starts[n]);
}
HECTOR_CUDA_KERNEL(in_degree)

extern "C" __global__ void twice(const float *scale, float *out, Sizes) {
  if (threadInGrid() == 0)
    out[0] = 2 * scale[0];
}
HECTOR_CUDA_KERNEL(twice)

// Two lanes take a row.
extern "C" __global__ void scale_rows(const float *x, const float *factor, float *out, Sizes sizes) {
  for (int64_t i = threadInGrid(); i < 2 * sizes.rows[Node]; i += threadsInGrid())
    out[i] = factor[0] * x[i];
}
HECTOR_CUDA_KERNEL(scale_rows)

// Goes through a buffer with one row per edge.
extern "C" __global__ void gather(const float *h, const float *w, const float *degree, float *out, float *products,
                                  const Id *starts, const Id *sources, Sizes sizes) {
  for (int64_t i = threadInGrid(); i < 2 * sizes.rows[Node]; i += threadsInGrid()) {
    const int64_t n = i / 2, k = i % 2;
    for (int64_t e = starts[n]; e < starts[n + 1]; ++e)
      products[2 * e + k] = w[e] * h[2 * sources[e] + k];
    float sum = degree[n];
    for (int64_t e = starts[n]; e < starts[n + 1]; ++e)
      sum += products[2 * e + k];
    out[i] = sum;
  }
}
HECTOR_CUDA_KERNEL(gather)

// Rows of totals have 16 numbers, of which the first is used.
extern "C" __global__ void sum_by_type(const float *w, float *, const Id *starts, float *totals, Sizes sizes) {
  if (lane() != 0)
    return;
  for (int64_t piece = warpInGrid(); piece < sizes.pieces; piece += warpsInGrid())
    for (int64_t e = piece * sizes.grain, type = 0; e < endOf(piece, sizes.rows[Edge], sizes); ++type) {
      if (starts[type + 1] <= e)
        continue;
      float sum = 0;
      for (; e < starts[type + 1] && e < endOf(piece, sizes.rows[Edge], sizes); ++e)
        sum += w[e];
      totals[16 * (piece + type)] = sum;
    }
}
HECTOR_CUDA_KERNEL(sum_by_type)
extern "C" __global__ void join_by_type(const float *, float *out, const Id *starts, const float *totals, Sizes sizes) {
  for (int64_t type = threadInGrid(); type < sizes.rows[EdgeType]; type += threadsInGrid()) {
    out[type] = 0;
    if (starts[type] < starts[type + 1])
      for (int64_t piece = starts[type] / sizes.grain; piece <= (starts[type + 1] - 1) / sizes.grain; ++piece)
        out[type] += totals[16 * (piece + type)];
  }
}
HECTOR_CUDA_KERNEL(join_by_type)

extern "C" __global__ void sum_unsorted(const float *gx, float *, const Id *types, const Id *nodes, float *totals,
                                        Sizes sizes) {
  if (lane() != 0)
    return;
  for (int64_t piece = warpInGrid(); piece < sizes.pieces; piece += warpsInGrid()) {
    float *mine = totals + 16 * piece * sizes.rows[EdgeType];
    for (int64_t type = 0; type < sizes.rows[EdgeType]; ++type)
      mine[16 * type] = 0;
    for (int64_t e = piece * sizes.grain; e < endOf(piece, sizes.rows[Edge], sizes); ++e)
      mine[16 * types[e]] += gx[2 * nodes[e]];
  }
}
HECTOR_CUDA_KERNEL(sum_unsorted)
extern "C" __global__ void join_unsorted(const float *, float *out, const Id *, const Id *, const float *totals,
                                         Sizes sizes) {
  for (int64_t type = threadInGrid(); type < sizes.rows[EdgeType]; type += threadsInGrid()) {
    out[type] = 0;
    for (int64_t piece = 0; piece < sizes.pieces; ++piece)
      out[type] += totals[16 * (piece * sizes.rows[EdgeType] + type)];
  }
}
HECTOR_CUDA_KERNEL(join_unsorted)

// What dropout would see.
extern "C" __global__ void see_training(const float *, float *y, Sizes sizes) {
  const Random random = *sizes.random;
  y[0] = random.isTraining ? float(100 * random.seed + random.step) : -1;
}
HECTOR_CUDA_KERNEL(see_training)

// Leaves the last row out.
extern "C" __global__ void holes(const float *x, float *y, Sizes sizes) {
  for (int64_t n = threadInGrid(); n + 1 < sizes.rows[Node]; n += threadsInGrid())
    y[n] = x[n];
}
HECTOR_CUDA_KERNEL(holes)
extern "C" __global__ void copy(const float *x, float *y, Sizes sizes) {
  for (int64_t n = threadInGrid(); n < sizes.rows[Node]; n += threadsInGrid())
    y[n] = x[n];
}
HECTOR_CUDA_KERNEL(copy)
)cuda";

inline DeviceLaunch onUnits(int lanes) {
  return {.schedule = Schedule::Units, .lanes = lanes, .threads = 64};
}

/// The example of runtime/exec/TestPlans.h for a GPU.
inline Plan devicePlan(bool isWide = false) {
  Plan plan = example::plan(isWide);
  for (Step &step : plan.steps) {
    Launch &launch = step.launch;
    launch.balance = {};
    launch.scratch = {};
    launch.device = launch.totals.empty() ? onUnits(launch.kernel == "in_degree" ? 1 : 2)
                                          : DeviceLaunch{.schedule = Schedule::Pieces, .lanes = 32, .threads = 64};
    if (launch.kernel == "gather")
      launch.device->buffers = {{"products", Domain::Edge, {2}}};
  }
  return plan;
}

/// A plan of one step over nodes that reads `x` and writes `y`, both of nodes.
inline Plan oneStep(const std::string &kernel) {
  Plan plan;
  plan.name = "one";
  plan.tables = {{"x", Domain::Node, {}}, {"y", Domain::Node, {}}};
  plan.inputs = {{"x", 0}};
  plan.outputs = {{"y", 1}};
  plan.steps = {{Phase::Forward,
                 {.kernel = kernel,
                  .label = kernel,
                  .domain = Domain::Node,
                  .inputs = {0},
                  .outputs = {1},
                  .device = onUnits(1)}}};
  return plan;
}

inline TestGraph nodes(int64_t count) {
  return {"", {}, {}, {}, {0, count}, 0};
}

inline const TestGraph kSmall = randomGraph("", 1, 30, 200, 5);

inline void set(DeviceExecutor &executor, const char *name, Ids shape, const std::vector<double> &values) {
  Status status = executor.setInput(name, Tensor::fromDoubles(std::move(shape), values, DType::F32));
  EXPECT_TRUE(status.isOk()) << status.message();
}

inline void expectRuns(DeviceExecutor &executor, Phase first = Phase::Graph, Phase last = Phase::Backward) {
  Status status = executor.run(first, last);
  EXPECT_TRUE(status.isOk()) << status.message();
}

inline std::vector<double> valuesOf(const DeviceExecutor &executor, const char *name) {
  Result<Tensor> tensor = executor.output(name);
  EXPECT_TRUE(tensor) << tensor.status().message();
  return tensor ? tensor->toDoubles() : std::vector<double>();
}

inline void expectNear(const std::vector<double> &actual, const std::vector<double> &expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << i;
}

inline DeviceExecutor makeExecutor(Device &device, std::shared_ptr<DeviceProgram> program, Plan plan,
                                   const Graph &graph, const DeviceExecOptions &options = {}) {
  auto executor =
      DeviceExecutor::create(std::make_shared<Plan>(std::move(plan)), std::move(program), device, graph, options);
  EXPECT_TRUE(executor) << executor.status().message();
  return std::move(*executor);
}

// --- in the caller's memory -----------------------------------------------------------------------------------------

/// A caller that has all tensors on the device.
class Caller {
public:
  explicit Caller(Device &device) : device(device) {}

  /// A tensor of its own on the device.
  Tensor make(Ids shape, const std::vector<double> &values, DType dtype = DType::F32) {
    const Tensor tensor = Tensor::fromDoubles(shape, values, dtype);
    Tensor there;
    there.dtype = dtype;
    there.shape = std::move(shape);
    there.bytes = static_cast<const std::byte *>(take(static_cast<int64_t>(tensor.numBytes())));
    EXPECT_TRUE(device.upload(const_cast<std::byte *>(there.bytes), {tensor.bytes, tensor.numBytes()}).isOk());
    EXPECT_TRUE(device.synchronize().isOk());
    return there;
  }
  void *take(int64_t bytes) {
    Result<DeviceMemory> made = device.allocate(std::max<int64_t>(bytes, 1));
    EXPECT_TRUE(made) << made.status().message();
    memory.push_back(std::move(*made));
    EXPECT_TRUE(device.fill(memory.back().data(), std::byte{0xff}, bytes).isOk());
    return memory.back().data();
  }
  std::vector<double> read(const void *from, int64_t count, DType dtype = DType::F32) {
    Tensor tensor;
    std::vector<std::byte> bytes(static_cast<size_t>(count) * byteSize(dtype));
    EXPECT_TRUE(device.download(bytes, from).isOk());
    EXPECT_TRUE(device.synchronize().isOk());
    tensor.dtype = dtype;
    tensor.shape = {count};
    tensor.bytes = bytes.data();
    return tensor.toDoubles();
  }

private:
  Device &device;
  std::vector<DeviceMemory> memory;
};

inline std::shared_ptr<const DevicePlan> share(Device &device, std::shared_ptr<DeviceProgram> program, Plan plan,
                                               const Graph &graph, DeviceExecOptions options = {}) {
  options.isInPlace = true;
  plan.source = "*sizes.random";  // so that numbers for dropout are set
  auto made = DevicePlan::create(std::make_shared<Plan>(std::move(plan)), std::move(program), device, graph, options);
  EXPECT_TRUE(made) << made.status().message();
  return *made;
}

inline DeviceExecutor executorOf(const std::shared_ptr<const DevicePlan> &plan) {
  auto executor = DeviceExecutor::create(plan);
  EXPECT_TRUE(executor) << executor.status().message();
  return std::move(*executor);
}

inline void expectOk(const Status &status) {
  EXPECT_TRUE(status.isOk()) << status.message();
}

}  // namespace hector::exec
