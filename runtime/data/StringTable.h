/// Gives each different text a number, in the order of first appearance.
///
/// Texts lie one after the other in one buffer. The table has a slot of 8 bytes (32 bits of the hash and the number)
/// for each text and at most five eighths of the slots are taken, so that a text costs its own bytes, 8 for its offset
/// and 13 to 26 for its slots. A text that is new to a large table misses the cache several times: `internAll`
/// asks for the memory of later texts while it looks up earlier ones.
#pragma once

#include "runtime/data/LargeArray.h"

#include <cstdint>
#include <span>
#include <string_view>

namespace hector {

/// A text that is looked for. Its bytes must outlive the call.
struct HashedText {
  const char *data = nullptr;
  uint32_t size = 0;
  uint32_t hash = 0;

  HashedText() = default;
  explicit HashedText(std::string_view text);
  std::string_view view() const { return {data, size}; }
};

class StringTable {
public:
  static constexpr uint32_t kNone = UINT32_MAX;
  /// The most texts a table can hold.
  static constexpr uint64_t kMaxTexts = (uint64_t{1} << 32) - 2;

  /// `kNone` where there is no room for another text.
  uint32_t intern(std::string_view text) { return intern(HashedText(text)); }
  uint32_t intern(HashedText text);
  /// Numbers for many texts, as `intern` gives them.
  void internAll(std::span<const HashedText> texts, uint32_t *ids);
  /// `kNone` where the text is unknown.
  uint32_t find(std::string_view text) const;

  uint64_t size() const { return count; }
  bool isFull() const { return size() >= kMaxTexts; }
  std::string_view operator[](uint64_t id) const {
    return {bytes.data() + offsets[id], static_cast<size_t>(offsets[id + 1] - offsets[id])};
  }
  uint64_t numBytes() const { return count == 0 ? 0 : offsets[count]; }

private:
  /// `id` is the text's number and 1, so that zeros are free.
  struct Slot {
    uint32_t hash;
    uint32_t id;
  };

  bool equals(const Slot &slot, const HashedText &text) const {
    return slot.hash == text.hash && (*this)[slot.id - 1] == text.view();
  }
  /// The number and 1 of the text that a hash most likely belongs to; 0 where there is none.
  uint32_t likelyId(uint32_t hash) const;
  /// False where there is no memory.
  bool add(const HashedText &text);
  bool grow();

  LargeArray<Slot> slots;
  uint64_t numSlots = 0;  // a power of two, or 0
  uint64_t mask = 0;
  LargeArray<uint64_t> offsets;  // count + 1, once there is one
  LargeArray<char> bytes;
  uint64_t count = 0;
};

}  // namespace hector
