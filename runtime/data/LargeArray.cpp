#include "runtime/data/LargeArray.h"

#include <cstdint>
#include <sys/mman.h>

namespace hector {

namespace {

constexpr size_t kLargePage = size_t{2} << 20;

/// Addresses for `size` bytes that start at a large page; nothing is behind them yet.
void *reserveAligned(size_t size) {
  void *raw = mmap(nullptr, size + kLargePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED)
    return nullptr;
  const auto begin = reinterpret_cast<uintptr_t>(raw);
  const uintptr_t aligned = (begin + kLargePage - 1) / kLargePage * kLargePage;
  if (aligned > begin)
    munmap(raw, aligned - begin);
  if (const size_t after = begin + kLargePage - aligned; after > 0)
    munmap(reinterpret_cast<void *>(aligned + size), after);
  return reinterpret_cast<void *>(aligned);
}

}  // namespace

LargeBytes::~LargeBytes() {
  if (address)
    munmap(address, capacity);
}

bool LargeBytes::grow(size_t size) {
  if (size <= capacity)
    return true;
  const size_t wanted = (size + kLargePage - 1) / kLargePage * kLargePage;
  void *place = reserveAligned(wanted);
  if (!place)
    return false;
  void *now = address ? mremap(address, capacity, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, place)
                      : mmap(place, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  if (now == MAP_FAILED) {
    munmap(place, wanted);
    return false;
  }
  // A wish: where large pages are switched off, small ones do.
  (void)madvise(now, wanted, MADV_HUGEPAGE);
  address = now;
  capacity = wanted;
  return true;
}

}  // namespace hector
