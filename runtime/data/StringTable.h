/// Gives each different text a number, in the order of first appearance.
///
/// Texts lie one after the other in one buffer. The table has a slot of 8 bytes (32 bits of the hash and the number)
/// for each text and at most three quarters of the slots are taken, so that a text costs its own bytes, 8 for its
/// offset and 11 to 21 for its slots. A text that is new to a large table misses the cache several times: `internAll`
/// asks for the memory of later texts while it looks up earlier ones.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

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

  StringTable();

  /// `kNone` where there is no room for another text.
  uint32_t intern(std::string_view text) { return intern(HashedText(text)); }
  uint32_t intern(HashedText text);
  /// Numbers for many texts, as `intern` gives them.
  void internAll(std::span<const HashedText> texts, uint32_t *ids);
  /// `kNone` where the text is unknown.
  uint32_t find(std::string_view text) const;

  uint64_t size() const { return offsets.size() - 1; }
  bool isFull() const { return size() >= kMaxTexts; }
  std::string_view operator[](uint64_t id) const {
    return {bytes.get() + offsets[id], static_cast<size_t>(offsets[id + 1] - offsets[id])};
  }
  uint64_t numBytes() const { return used; }

private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t id = kNone;
  };
  struct Free {
    void operator()(char *p) const { std::free(p); }
  };

  bool equals(const Slot &slot, const HashedText &text) const {
    return slot.hash == text.hash && (*this)[slot.id] == text.view();
  }
  uint32_t add(const HashedText &text);
  void grow();

  std::vector<Slot> slots;
  uint64_t mask;
  std::vector<uint64_t> offsets{0};
  std::unique_ptr<char, Free> bytes;  // grown by realloc, which moves pages rather than bytes once it is large
  uint64_t used = 0;
  uint64_t room = 0;
};

}  // namespace hector
