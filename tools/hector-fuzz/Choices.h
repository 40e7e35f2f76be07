/// The random choices behind a generated program, recorded so that they can be replayed and made smaller.
#pragma once

#include <cstdint>
#include <vector>

namespace hector::fuzz {

/// Mixes a number into 64 well-spread bits (SplitMix64).
inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

/// Draws numbers: from a seed, or from a recorded list; past its end every draw is 0. Generators make 0 the simplest
/// choice, so that a shorter list with smaller numbers is a smaller program.
class Choices {
public:
  explicit Choices(uint64_t seed) : state(seed) {}
  explicit Choices(std::vector<uint32_t> list) : replayed(std::move(list)), isReplay(true) {}

  /// A number below `limit`; 0 where there is no choice.
  uint32_t below(uint32_t limit) {
    uint32_t value = 0;
    if (limit > 1) {
      if (isReplay)
        value = drawnSoFar.size() < replayed.size() ? replayed[drawnSoFar.size()] % limit : 0;
      else
        value = static_cast<uint32_t>((state = mix(state)) % limit);
    }
    drawnSoFar.push_back(value);
    return value;
  }
  /// True once in `n` draws.
  bool oneIn(uint32_t n) { return below(n) == n - 1; }
  const std::vector<uint32_t> &drawn() const { return drawnSoFar; }

private:
  uint64_t state = 0;
  std::vector<uint32_t> replayed;
  bool isReplay = false;
  std::vector<uint32_t> drawnSoFar;
};

}  // namespace hector::fuzz
