#include "Rounding.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace hector::fuzz {

namespace {

constexpr double kUnit = 0x1p-24;
constexpr double kFactor = 4.0;      // of the error without groups
constexpr double kRoundings = 32.0;  // of numbers of the table's size
constexpr double kParted = 1e-3;     // of the table's size; f32 keeps seven digits

/// At least 1, the size of inputs.
double sizeOf(const Table &exact) {
  double size = 1.0;
  for (double value : exact.values)
    if (std::isfinite(value))
      size = std::max(size, std::abs(value));
  return size;
}

/// The largest distance between entries; infinite where one is finite and the other is not.
double distance(const Table &exact, const Table &table) {
  double largest = 0.0;
  for (size_t i = 0; i < exact.values.size(); ++i) {
    const double a = exact.values[i], b = table.values[i];
    if (std::isfinite(a) != std::isfinite(b))
      return std::numeric_limits<double>::infinity();
    if (std::isfinite(a))
      largest = std::max(largest, std::abs(a - b));
  }
  return largest;
}

}  // namespace

bool hasParted(const std::vector<Table> &exact, const std::vector<Table> &rounded) {
  for (size_t i = 0; i < exact.size(); ++i)
    if (distance(exact[i], rounded[i]) > kParted * sizeOf(exact[i]))
      return true;
  return false;
}

std::optional<Unexplained> findUnexplained(const std::vector<Table> &exact, const std::vector<Table> &rounded,
                                           const std::vector<Table> &grouped) {
  for (size_t i = 0; i < exact.size(); ++i) {
    const double without = distance(exact[i], rounded[i]), with = distance(exact[i], grouped[i]);
    if (with <= kFactor * without + kRoundings * kUnit * sizeOf(exact[i]))
      continue;
    char text[160];
    std::snprintf(text, sizeof text, "off by %.3g in groups and by %.3g without, in a table of numbers up to %.3g",
                  with, without, sizeOf(exact[i]));
    return Unexplained{i, text};
  }
  return std::nullopt;
}

}  // namespace hector::fuzz
