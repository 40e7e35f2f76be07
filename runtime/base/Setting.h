/// For tests of code that reads the environment.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace hector {

/// Sets a variable of the environment while it lives.
class Setting {
public:
  Setting(const char *name, const char *value) : name(name) {
    if (const char *old = std::getenv(name))
      before = old;
    if (value)
      ::setenv(name, value, 1);
    else
      ::unsetenv(name);
  }
  ~Setting() {
    if (before)
      ::setenv(name, before->c_str(), 1);
    else
      ::unsetenv(name);
  }
  Setting(const Setting &) = delete;
  Setting &operator=(const Setting &) = delete;

private:
  const char *name;
  std::optional<std::string> before;
};

}  // namespace hector
