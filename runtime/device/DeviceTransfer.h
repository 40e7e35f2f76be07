/// Copies tables on a device between what the caller has and what a plan stores: another order of rows, another type of
/// number. `runtime/exec/Transfer.h` does the same in the memory of the host.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"
#include "runtime/exec/Plan.h"
#include "runtime/exec/Session.h"

#include <cstdint>
#include <memory>

namespace hector::exec {

/// Used by one thread at a time, the one that uses the device. Borrows the device.
class DeviceTransfer {
public:
  /// Compiles the kernels, or finds them in the cache.
  static Result<std::unique_ptr<DeviceTransfer>> load(Device &device);

  /// The rows of a table.
  struct Rows {
    const void *places = nullptr;  // of each row of the plan's table, where it is in the caller's; null: the same
    bool hasWideIds = false;
    int64_t count = 0, size = 0;  // of rows, and of numbers in one
    Storage storage = Storage::F32;
  };
  /// From the caller's table, whose numbers have the type `given`.
  Status copyIn(const void *from, Storage given, void *to, const Rows &rows) const;
  /// To the caller's table, as F64 if the plan's has that type, else as F32.
  Status copyOut(const void *from, void *to, const Rows &rows) const;

  /// Sets a `cuda::Random`. `numbers` are a seed and a step in the device's memory, which are taken instead of those of
  /// `randomness`; it may be null.
  Status setRandom(void *to, const Randomness &randomness, const void *numbers) const;

private:
  explicit DeviceTransfer(Device &device) : device(device) {}
  Status copy(const void *from, Storage given, void *to, Storage wanted, const Rows &rows, bool isOut) const;

  Device &device;
  std::shared_ptr<DeviceProgram> program;
  const Kernel *copyRows = nullptr, *convertRows = nullptr, *random = nullptr;
};

}  // namespace hector::exec
