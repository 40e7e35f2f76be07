/// Hashes of 128 bits (XXH3), as 32 hexadecimal digits.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace hector {

std::string hashOf(std::span<const std::byte> bytes);

/// A hash over several texts. Each counts with its length: `ab`, `c` differs from `a`, `bc`.
class TextHash {
public:
  TextHash();
  ~TextHash();
  TextHash(const TextHash &) = delete;
  TextHash &operator=(const TextHash &) = delete;

  void add(std::string_view text);
  std::string digest() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

}  // namespace hector
