#include "runtime/data/StringTable.h"

#include <algorithm>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hector {

HashedText::HashedText(std::string_view text)
    : data(text.data()), size(static_cast<uint32_t>(text.size())),
      hash(static_cast<uint32_t>(XXH3_64bits(text.data(), text.size()))) {}

bool StringTable::add(const HashedText &text) {
  const uint64_t begin = numBytes(), end = begin + text.size;
  if (end > bytes.capacity() && !bytes.reserve(std::max<uint64_t>(end, bytes.capacity() + bytes.capacity() / 2)))
    return false;
  if (count + 2 > offsets.capacity() && !offsets.reserve(std::max<uint64_t>(count + 2, count + count / 2)))
    return false;
  if (text.size > 0)
    std::memcpy(bytes.data() + begin, text.data, text.size);
  offsets[++count] = end;
  return true;
}

bool StringTable::grow() {
  constexpr uint64_t kFirst = 1 << 12;
  const uint64_t larger = std::max(kFirst, numSlots * 2);
  LargeArray<Slot> moved;
  if (!moved.reserve(larger))
    return false;
  for (uint64_t i = 0; i < numSlots; ++i) {
    const Slot slot = slots[i];
    if (slot.id == 0)
      continue;
    uint64_t at = slot.hash & (larger - 1);
    while (moved[at].id != 0)
      at = (at + 1) & (larger - 1);
    moved[at] = slot;
  }
  slots = std::move(moved);
  numSlots = larger;
  mask = larger - 1;
  return true;
}

uint32_t StringTable::intern(HashedText text) {
  if ((size() + 1) * 8 > numSlots * 5 && !grow())
    return kNone;
  uint64_t at = text.hash & mask;
  while (slots[at].id != 0) {
    if (equals(slots[at], text))
      return slots[at].id - 1;
    at = (at + 1) & mask;
  }
  if (isFull() || !add(text))
    return kNone;
  slots[at] = {text.hash, static_cast<uint32_t>(count)};
  return static_cast<uint32_t>(count - 1);
}

uint32_t StringTable::likelyId(uint32_t hash) const {
  constexpr int kNear = 8;
  uint64_t at = hash & mask;
  for (int i = 0; i < kNear; ++i, at = (at + 1) & mask) {
    const Slot slot = slots[at];
    if (slot.hash == hash || slot.id == 0)
      return slot.id;
  }
  return 0;
}

void StringTable::internAll(std::span<const HashedText> texts, uint32_t *ids) {
  // Three steps, each as far ahead as memory is slow: the slot, then the offset of the text it names, then the text.
  constexpr size_t kSlot = 24, kOffset = 16, kText = 8;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (numSlots > 0) {
      if (i + kSlot < texts.size())
        __builtin_prefetch(&slots[texts[i + kSlot].hash & mask]);
      if (i + kOffset < texts.size())
        if (uint32_t id = likelyId(texts[i + kOffset].hash))
          __builtin_prefetch(&offsets[id - 1]);
      if (i + kText < texts.size())
        if (uint32_t id = likelyId(texts[i + kText].hash)) {
          const char *text = bytes.data() + offsets[id - 1];
          __builtin_prefetch(text);
          __builtin_prefetch(text + texts[i + kText].size);
        }
    }
    ids[i] = intern(texts[i]);
  }
}

uint32_t StringTable::find(std::string_view text) const {
  if (numSlots == 0)
    return kNone;
  HashedText hashed(text);
  for (uint64_t at = hashed.hash & mask; slots[at].id != 0; at = (at + 1) & mask)
    if (equals(slots[at], hashed))
      return slots[at].id - 1;
  return kNone;
}

}  // namespace hector
