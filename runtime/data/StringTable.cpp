#include "runtime/data/StringTable.h"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hector {

HashedText::HashedText(std::string_view text)
    : data(text.data()), size(static_cast<uint32_t>(text.size())),
      hash(static_cast<uint32_t>(XXH3_64bits(text.data(), text.size()))) {}

StringTable::StringTable() : slots(1 << 10), mask(slots.size() - 1) {}

uint32_t StringTable::add(const HashedText &text) {
  if (used + text.size > room) {
    room = std::max<uint64_t>(room + room / 2, used + text.size + 4096);
    char *larger = static_cast<char *>(std::realloc(bytes.get(), room));
    if (!larger)
      return kNone;
    (void)bytes.release();
    bytes.reset(larger);
  }
  if (text.size > 0)
    std::memcpy(bytes.get() + used, text.data, text.size);
  used += text.size;
  offsets.push_back(used);
  return static_cast<uint32_t>(size() - 1);
}

void StringTable::grow() {
  std::vector<Slot> larger(slots.size() * 2);
  mask = larger.size() - 1;
  for (const Slot &slot : slots) {
    if (slot.id == kNone)
      continue;
    uint64_t at = slot.hash & mask;
    while (larger[at].id != kNone)
      at = (at + 1) & mask;
    larger[at] = slot;
  }
  slots.swap(larger);
}

uint32_t StringTable::intern(HashedText text) {
  uint64_t at = text.hash & mask;
  while (slots[at].id != kNone) {
    if (equals(slots[at], text))
      return slots[at].id;
    at = (at + 1) & mask;
  }
  if (isFull())
    return kNone;
  uint32_t id = add(text);
  if (id == kNone)
    return kNone;
  slots[at] = {text.hash, id};
  if (size() * 4 > slots.size() * 3)
    grow();
  return id;
}

void StringTable::internAll(std::span<const HashedText> texts, uint32_t *ids) {
  // Three steps, each as far ahead as memory is slow: the slot, then the offset of the text it names, then the text.
  constexpr size_t kSlot = 24, kOffset = 16, kText = 8;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i + kSlot < texts.size())
      __builtin_prefetch(&slots[texts[i + kSlot].hash & mask]);
    if (i + kOffset < texts.size()) {
      const Slot &slot = slots[texts[i + kOffset].hash & mask];
      if (slot.hash == texts[i + kOffset].hash && slot.id != kNone)
        __builtin_prefetch(&offsets[slot.id]);
    }
    if (i + kText < texts.size()) {
      const Slot &slot = slots[texts[i + kText].hash & mask];
      if (slot.hash == texts[i + kText].hash && slot.id != kNone)
        __builtin_prefetch(bytes.get() + offsets[slot.id]);
    }
    ids[i] = intern(texts[i]);
  }
}

uint32_t StringTable::find(std::string_view text) const {
  HashedText hashed(text);
  for (uint64_t at = hashed.hash & mask; slots[at].id != kNone; at = (at + 1) & mask)
    if (equals(slots[at], hashed))
      return slots[at].id;
  return kNone;
}

}  // namespace hector
