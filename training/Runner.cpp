#include "training/Runner.h"

#include "runtime/base/Parallel.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace hector::training {

static void copyNumbers(const float *from, float *to, int64_t count) {
  constexpr int64_t kGrain = int64_t{1} << 18;
  parallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(to + begin, from + begin, static_cast<size_t>(end - begin) * sizeof(float));
  });
}

namespace {

class CpuRunner final : public Runner {
public:
  explicit CpuRunner(exec::Executor executor) : executor(std::move(executor)) {}

  Status setInput(std::string_view name, const Tensor &tensor) override { return executor.setInput(name, tensor); }
  void setTraining(uint64_t seed, uint64_t step) override { executor.setTraining(seed, step); }
  Status run(exec::Phase first, exec::Phase last) override { return executor.run(first, last); }
  Result<exec::TableView> view(std::string_view name) override { return executor.view(name); }
  Result<Tensor> output(std::string_view name) const override { return executor.output(name); }
  Status take(std::string_view input, std::string_view output, const Table &table) override {
    auto next = executor.view(output);
    if (!next)
      return std::move(next).status();
    copyNumbers(static_cast<const float *>(next->data), table.data(), next->rows * next->spec->rowSize());
    return executor.setInput(input, table.tensor());
  }
  /// The plan reads the table itself.
  Status fetch(std::string_view, const Table &) override { return Status::ok(); }
  int64_t peakBytes() const override { return executor.peakBytes(); }

private:
  exec::Executor executor;
};

class DeviceRunner final : public Runner {
public:
  DeviceRunner(std::shared_ptr<const exec::Plan> plan, exec::DeviceExecutor executor)
      : plan(std::move(plan)), executor(std::move(executor)) {}

  Status setInput(std::string_view name, const Tensor &tensor) override { return executor.setInput(name, tensor); }
  void setTraining(uint64_t seed, uint64_t step) override { executor.setTraining(seed, step); }
  Status run(exec::Phase first, exec::Phase last) override { return executor.run(first, last); }
  Result<exec::TableView> view(std::string_view name) override {
    auto tensor = executor.output(name);
    if (!tensor)
      return std::move(tensor).status();
    const auto port = std::find_if(plan->outputs.begin(), plan->outputs.end(),
                                   [&](const exec::Port &output) { return output.name == name; });
    const exec::TableSpec &spec = plan->tables[port->table];
    const Tensor &kept = viewed[std::string(name)] = std::move(*tensor);
    return exec::TableView{kept.bytes, &spec, kept.numElements() / std::max<int64_t>(spec.rowSize(), 1)};
  }
  Result<Tensor> output(std::string_view name) const override { return executor.output(name); }
  Status take(std::string_view input, std::string_view output, const Table &) override {
    return executor.takeInput(input, output);
  }
  Status fetch(std::string_view input, const Table &table) override {
    auto tensor = executor.input(input);
    if (!tensor)
      return std::move(tensor).status();
    copyNumbers(reinterpret_cast<const float *>(tensor->bytes), table.data(), tensor->numElements());
    return Status::ok();
  }
  int64_t peakBytes() const override { return executor.peakBytes(); }

private:
  std::shared_ptr<const exec::Plan> plan;
  exec::DeviceExecutor executor;
  std::map<std::string, Tensor> viewed;
};

}  // namespace

MakeRunner runnersOnCpu(std::shared_ptr<const exec::Plan> plan, exec::KernelLookup kernels,
                        const exec::ExecOptions &options) {
  return [=](const Graph &graph) -> Result<std::unique_ptr<Runner>> {
    auto executor = exec::Executor::create(plan, kernels, graph, options);
    if (!executor)
      return std::move(executor).status();
    return std::unique_ptr<Runner>(std::make_unique<CpuRunner>(std::move(*executor)));
  };
}

MakeRunner runnersOnDevice(std::shared_ptr<const exec::Plan> plan, std::shared_ptr<DeviceProgram> program,
                           Device &device, const exec::DeviceExecOptions &options) {
  return [=, &device](const Graph &graph) -> Result<std::unique_ptr<Runner>> {
    auto executor = exec::DeviceExecutor::create(plan, program, device, graph, options);
    if (!executor)
      return std::move(executor).status();
    return std::unique_ptr<Runner>(std::make_unique<DeviceRunner>(plan, std::move(*executor)));
  };
}

}  // namespace hector::training
