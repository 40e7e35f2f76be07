/// Checks of option values that several commands share.
#pragma once

#include <CLI/CLI.hpp>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

namespace hector {

/// A check, to be given to `transform`, that an option's value is a whole number in decimal digits, from `min` to
/// `max`. Takes leading zeros off: CLI11 would read `010` as 8.
template <class Number> CLI::Validator wholeNumber(Number min = 0, Number max = std::numeric_limits<Number>::max()) {
  return CLI::Validator(
      [=](std::string &value) -> std::string {
        Number number = 0;
        const char *end = value.data() + value.size();
        auto [rest, error] = std::from_chars(value.data(), end, number);
        // After `--seed=` CLI11 takes the next word for the value.
        if (value.empty() || value.starts_with("--"))
          return "a number is missing";
        if (rest != end || error == std::errc::invalid_argument)
          return "`" + value + "` is not a whole number";
        if (error != std::errc() || number < min || number > max)
          return "`" + value + "` is out of range; expected " + std::to_string(min) + " to " + std::to_string(max);
        value = std::to_string(number);
        return {};
      },
      "");
}

/// A check that an option's value is one of `names`.
inline CLI::Validator oneOf(std::vector<std::string> names) {
  std::string shown;  // in --help, where shell completion finds it
  for (const std::string &name : names)
    shown += (shown.empty() ? "{" : ",") + name;
  return CLI::Validator(
      [names](std::string &value) -> std::string {
        std::string list;
        for (const std::string &name : names) {
          if (value == name)
            return {};
          list += (list.empty() ? "" : name == names.back() ? " or " : ", ") + name;
        }
        return "`" + value + "` is not " + list;
      },
      shown + "}");
}

/// A check that an option's value is a number from `min` to `max`.
inline CLI::Validator realNumber(double min, double max) {
  return CLI::Validator(
      [=](std::string &value) -> std::string {
        double number = 0;
        const char *end = value.data() + value.size();
        auto [rest, error] = std::from_chars(value.data(), end, number);
        if (value.empty() || value.starts_with("--"))
          return "a number is missing";
        if (rest != end || error == std::errc::invalid_argument)
          return "`" + value + "` is not a number";
        if (error != std::errc() || !(number >= min && number <= max)) {
          char range[80];
          std::snprintf(range, sizeof range, "%g to %g", min, max);
          return "`" + value + "` is out of range; expected " + range;
        }
        return {};
      },
      "");
}

/// A check that an option is given more than nothing, as from an unset variable of the shell.
inline CLI::Validator notEmpty() {
  return CLI::Validator([](std::string &value) -> std::string { return value.empty() ? "a value is missing" : ""; },
                        "");
}

}  // namespace hector
