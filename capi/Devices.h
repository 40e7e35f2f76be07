/// The GPUs that layers of the C interface run on. Each is opened once and stays open to the end of the process, as
/// whatever a caller still has may need it.
#pragma once

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace hector::capi {

/// A device, and who may use it: threads take turns.
struct OpenDevice {
  std::unique_ptr<Device> device;
  std::mutex mutex;
};

/// The GPU of a number, or an emulated one if HECTOR_EMULATE_CUDA says 1. Fails, as `hector doctor` tells it, where
/// there is none.
Result<OpenDevice *> openDevice(int32_t number);

/// The right of a thread to use a device, and which stream its work goes to meanwhile.
class Turn {
public:
  explicit Turn(OpenDevice &open, std::optional<void *> stream = std::nullopt) : open(open), lock(open.mutex) {
    open.device->useStream(stream);
  }
  Turn(const Turn &) = delete;
  Turn &operator=(const Turn &) = delete;
  ~Turn() { open.device->useStream(std::nullopt); }

private:
  OpenDevice &open;
  std::lock_guard<std::mutex> lock;
};

}  // namespace hector::capi
