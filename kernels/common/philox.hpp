/// Randomness without state: every number is a function of where it is used, so any order and any number of threads
/// draws the same. Philox4x32-10 of Salmon, Moraes, Dror and Shaw (2011) turns a counter and a key into four numbers.
///
/// Only integer arithmetic on values, so that kernels of any target may include it.
#pragma once

#include "kernels/common/target.hpp"

namespace hector {

struct PhiloxCounter {
  uint32_t words[4];
};

struct PhiloxKey {
  uint32_t words[2];
};

/// Four random words for a counter. Different counters of one key never give the same four.
HECTOR_ANYWHERE constexpr PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t first = uint64_t{0xD2511F53} * counter.words[0];
    const uint64_t second = uint64_t{0xCD9E8D57} * counter.words[2];
    counter = {{static_cast<uint32_t>(second >> 32) ^ counter.words[1] ^ key.words[0], static_cast<uint32_t>(second),
                static_cast<uint32_t>(first >> 32) ^ counter.words[3] ^ key.words[1], static_cast<uint32_t>(first)}};
    key = {{key.words[0] + 0x9E3779B9, key.words[1] + 0xBB67AE85}};
  }
  return counter;
}

/// Which numbers of a table one dropout sets to 0, in one step of training.
///
/// The key is drawn from seed and step, and the counter is (row, element / 4, stream): four elements of a row share
/// a call. `row` is the number that the row has outside: an edge's number in the file, whatever order a plan keeps its
/// edges in. A pair has no number there; it uses relation · nodes + node.
class DropoutMask {
public:
  HECTOR_ANYWHERE constexpr DropoutMask(uint64_t seed, uint64_t step, uint32_t stream, double rate)
      : key(stepKey(seed, step)), stream(stream), threshold(static_cast<uint64_t>(rate * 0x1p32)) {}

  /// Whether a number is dropped; over all numbers, the part `rate` of them is, to within 2^-32.
  HECTOR_ANYWHERE constexpr bool drops(uint64_t row, uint64_t element) const {
    return drops(draw(row, element / 4).words[element % 4]);
  }

  /// The words that decide over the elements 4·four to 4·four + 3 of a row, for loops over many.
  HECTOR_ANYWHERE constexpr PhiloxCounter draw(uint64_t row, uint64_t four) const {
    return philox({{static_cast<uint32_t>(row), static_cast<uint32_t>(row >> 32), static_cast<uint32_t>(four), stream}},
                  key);
  }
  HECTOR_ANYWHERE constexpr bool drops(uint32_t word) const { return word < threshold; }

private:
  HECTOR_ANYWHERE static constexpr PhiloxKey stepKey(uint64_t seed, uint64_t step) {
    const PhiloxCounter drawn = philox({{static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32), 0, 0}},
                                       PhiloxKey{{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}});
    return {{drawn.words[0], drawn.words[1]}};
  }

  PhiloxKey key;
  uint32_t stream;
  uint64_t threshold;  // of 2^32: a rate of 1 drops every word
};

}  // namespace hector
