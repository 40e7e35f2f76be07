/// Reads the part of Python's pickle format that arrays, sparse matrices and dictionaries of lists need. Nothing is
/// ever called: names of classes and functions are only compared.
#pragma once

#include "runtime/base/Status.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hector {

/// A value of a pickle. `items` are a list's or tuple's entries, a dictionary's keys and values by turns, or an
/// object's class, arguments and, once set, state.
struct PickleValue {
  enum class Kind : uint8_t { None, Bool, Int, Float, Text, List, Tuple, Dict, Global, Object };
  Kind kind = Kind::None;
  int64_t number = 0;
  double real = 0;
  std::string text;  // bytes, text, or `module.name`
  std::vector<const PickleValue *> items;

  /// The value of a dictionary's text key; null where there is none.
  const PickleValue *get(std::string_view key) const;
};

/// A pickle and its values, which may refer to each other in any way.
struct Pickle {
  std::deque<PickleValue> values;
  const PickleValue *root = nullptr;
};

Result<Pickle> parsePickle(std::string_view bytes, const std::string &name);

/// A numpy array of numbers in a pickle.
struct PickleArray {
  std::vector<int64_t> shape;
  std::vector<double> values;
};
Result<PickleArray> pickleArray(const PickleValue &value, const std::string &name);

}  // namespace hector
