#include "runtime/device/DeviceTransfer.h"

#include "kernels/cuda/sizes.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace hector::exec {

namespace {

constexpr const char *kText = "#include \"kernels/cuda/transfer.cuh\"\n";
constexpr int kThreads = 256;

static_assert(static_cast<int>(Storage::F64) == cuda::StoredF64 && static_cast<int>(Storage::F32) == cuda::StoredF32 &&
              static_cast<int>(Storage::BF16) == cuda::StoredBF16 &&
              static_cast<int>(Storage::F16) == cuda::StoredF16 &&
              static_cast<int>(Storage::Bool) == cuda::StoredBool &&
              static_cast<int>(Storage::Index) == cuda::StoredIndex);

/// The largest word that both tables are made of.
int64_t wordBytes(const void *from, const void *to, int64_t rowBytes) {
  const uint64_t all = reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to) |
                       static_cast<uint64_t>(rowBytes) | uint64_t{16};
  return static_cast<int64_t>(all & (~all + 1));  // the lowest bit
}

LaunchShape shapeFor(int64_t count, const DeviceInfo &device) {
  const int64_t most = std::max<int64_t>(device.multiprocessors, 1) * 16;
  return {std::min(count / kThreads + (count % kThreads != 0 ? 1 : 0), most), kThreads, 0};
}

}  // namespace

/// The program of all transfers of a device. To load it takes longer than to copy the tables of a small graph.
static Result<std::shared_ptr<DeviceProgram>> programFor(Device &device) {
  static std::mutex mutex;
  static auto &programs = *new std::map<const Device *, std::weak_ptr<DeviceProgram>>();
  std::lock_guard<std::mutex> lock(mutex);
  std::weak_ptr<DeviceProgram> &known = programs[&device];  // nothing of another device that was at its address
  if (auto program = known.lock())
    return program;
  auto program = device.load({{"transfer.cu", kText}, cudaHeaders(), "copies of tables"});
  if (!program)
    return std::move(program).status();
  std::shared_ptr<DeviceProgram> shared = std::move(*program);
  known = shared;
  return shared;
}

Result<std::unique_ptr<DeviceTransfer>> DeviceTransfer::load(Device &device) {
  std::unique_ptr<DeviceTransfer> made(new DeviceTransfer(device));
  auto program = programFor(device);
  if (!program)
    return std::move(program).status();
  made->program = std::move(*program);
  for (const auto &[name, kernel] :
       {std::pair("hector_copy_rows", &made->copyRows), std::pair("hector_convert_rows", &made->convertRows),
        std::pair("hector_set_random", &made->random)}) {
    Result<Kernel *> found = made->program->kernel(name);
    if (!found)
      return std::move(found).status();
    *kernel = *found;
  }
  return made;
}

Status DeviceTransfer::copy(const void *from, Storage given, void *to, Storage wanted, const Rows &rows,
                            bool isOut) const {
  cuda::RowPlaces places = {rows.places, rows.count, rows.size, rows.hasWideIds ? 1 : 0, isOut ? 1 : 0};
  if (given != wanted || given == Storage::Bool)  // bytes of a Bool may be any outside
    return device.launch(*convertRows, shapeFor(rows.count * rows.size, device.info()),
                         Arguments::of(from, static_cast<int32_t>(given), to, static_cast<int32_t>(wanted), places));
  const int64_t rowBytes = rows.size * byteSize(given);
  if (!rows.places)
    return device.copy(to, from, rows.count * rowBytes);
  const int64_t word = wordBytes(from, to, rowBytes);
  places.size = rowBytes / word;
  return device.launch(*copyRows, shapeFor(rows.count * places.size, device.info()),
                       Arguments::of(from, to, places, static_cast<int32_t>(word)));
}

Status DeviceTransfer::copyIn(const void *from, Storage given, void *to, const Rows &rows) const {
  return copy(from, given, to, rows.storage, rows, false);
}

Status DeviceTransfer::copyOut(const void *from, void *to, const Rows &rows) const {
  return copy(from, rows.storage, to, rows.storage == Storage::F64 ? Storage::F64 : Storage::F32, rows, true);
}

Status DeviceTransfer::setRandom(void *to, const Randomness &randomness, const void *numbers) const {
  return device.launch(
      *random, {1, 32, 0},
      Arguments::of(to, numbers, randomness.seed, randomness.step, static_cast<int32_t>(randomness.isTraining)));
}

}  // namespace hector::exec
