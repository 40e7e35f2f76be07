/// Failures: a message for the person who can act on it, and who that is.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace hector {

/// Who can act on a failure: the user (a bad file, a bad option) or whoever keeps the machine (disk, memory, driver).
enum class Blame { User, Machine };

class [[nodiscard]] Status {
public:
  static Status ok() { return Status(); }
  /// A failure that the user can fix: a file, an option, a model.
  static Status invalid(std::string message) { return Status(Blame::User, std::move(message)); }
  /// A failure that the user can fix in a text. `report` is a list of whole lines, each message with its place and its
  /// word `error:`; it is shown as it is.
  static Status located(std::string report) {
    Status status = invalid(std::move(report));
    status.hasPlaces = true;
    return status;
  }
  /// A failure of the machine: disk, memory, driver, compiler.
  static Status failed(std::string message) { return Status(Blame::Machine, std::move(message)); }

  bool isOk() const { return !text.has_value(); }
  const std::string &message() const {
    assert(!isOk());
    return *text;
  }
  Blame blame() const { return who; }
  /// Whether the message is a report on a text, made by `located`.
  bool isLocated() const { return hasPlaces; }
  /// Adds what was being done: `context: message`.
  Status during(std::string_view context) && {
    if (text)
      *text = std::string(context) + ": " + *text;
    return std::move(*this);
  }

private:
  Status() = default;
  Status(Blame who, std::string message) : who(who), text(std::move(message)) {}
  Blame who = Blame::User;
  bool hasPlaces = false;
  std::optional<std::string> text;
};

/// A value, or the status that says why there is none.
template <class T> class [[nodiscard]] Result {
public:
  Result(T value) : item(std::move(value)) {}
  Result(Status failure) : why(std::move(failure)) { assert(!why.isOk()); }

  bool isOk() const { return item.has_value(); }
  explicit operator bool() const { return isOk(); }
  const Status &status() const & { return why; }
  Status status() && { return std::move(why); }
  T &operator*() { return *item; }
  const T &operator*() const { return *item; }
  T *operator->() { return &*item; }
  const T *operator->() const { return &*item; }
  T take() && { return std::move(*item); }

private:
  std::optional<T> item;
  Status why = Status::ok();
};

}  // namespace hector
