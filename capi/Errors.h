/// Failures of the C interface: a status, and a message that belongs to the thread.
#pragma once

#include "include/hector.h"
#include "runtime/base/Status.h"

#include <exception>
#include <new>
#include <string>
#include <utility>

namespace hector::capi {

/// Keeps the message for `hector_error_message`. Where even that fails for want of memory, a fixed one stands in.
hector_status fail(hector_status status, const char *message) noexcept;

/// Tells a failure to the caller.
hector_status fail(const Status &status) noexcept;

/// Runs the body of a function of the interface, and keeps exceptions from leaving it.
template <class F> hector_status guarded(F &&body) noexcept {
  try {
    Status status = body();
    return status.isOk() ? HECTOR_OK : fail(status);
  } catch (const std::bad_alloc &) {
    return fail(HECTOR_MACHINE, "out of memory");
  } catch (const std::exception &error) {
    return fail(HECTOR_INTERNAL, error.what());
  } catch (...) {
    return fail(HECTOR_INTERNAL, "an unknown failure; this is a bug of Hector");
  }
}

/// Fails if an argument that has to be there is NULL.
Status require(const void *argument, const char *name);

}  // namespace hector::capi
