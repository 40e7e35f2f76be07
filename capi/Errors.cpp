#include "capi/Errors.h"

namespace hector::capi {

namespace {

struct Message {
  std::string text;
  const char *fixed = nullptr;  // instead of `text`
};
thread_local Message lastMessage;

}  // namespace

hector_status fail(hector_status status, const char *message) noexcept {
  try {
    lastMessage.text = message;
    lastMessage.fixed = nullptr;
  } catch (...) {
    lastMessage.fixed = "out of memory";
  }
  return status;
}

hector_status fail(const Status &status) noexcept {
  const hector_status kind = status.isLocated()              ? HECTOR_MODEL
                             : status.blame() == Blame::User ? HECTOR_INVALID
                                                             : HECTOR_MACHINE;
  return fail(kind, status.message().c_str());
}

Status require(const void *argument, const char *name) {
  return argument ? Status::ok() : Status::invalid("argument `" + std::string(name) + "` is NULL");
}

}  // namespace hector::capi

extern "C" const char *hector_error_message(void) {
  const auto &message = hector::capi::lastMessage;
  return message.fixed ? message.fixed : message.text.c_str();
}
