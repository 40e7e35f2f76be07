/// Large arrays that are not cleared when they are made.
#pragma once

#include "runtime/base/Memory.h"

#include <cstddef>
#include <cstdlib>
#include <new>
#include <sys/mman.h>
#include <type_traits>
#include <utility>
#include <vector>

namespace hector {

/// Leaves new elements uninitialised (whoever makes the array writes every element, in parallel), and requests 2 MiB
/// pages if an array spans several: scattered writes then rarely miss in the page tables.
template <class T> struct BigAllocator {
  using value_type = T;
  static constexpr size_t kHugePage = size_t{2} << 20;

  BigAllocator() = default;
  template <class U> BigAllocator(const BigAllocator<U> &) {}

  T *allocate(size_t count) {
    if (count > static_cast<size_t>(-1) / 2 / sizeof(T))
      throw std::bad_alloc();
    const size_t bytes = count * sizeof(T);
    void *memory = nullptr;
    if (bytes >= 4 * kHugePage) {
      memory = std::aligned_alloc(kHugePage, (bytes + kHugePage - 1) / kHugePage * kHugePage);
      if (memory)
        (void)::madvise(memory, bytes, MADV_HUGEPAGE);  // only a hint
    } else {
      memory = std::malloc(bytes);
    }
    if (!memory && bytes)
      throwOutOfMemory(bytes);
    return static_cast<T *>(memory);
  }
  void deallocate(T *memory, size_t) { std::free(memory); }

  template <class U> void construct(U *place) { ::new (static_cast<void *>(place)) U; }
  template <class U, class... Args> void construct(U *place, Args &&...args) {
    ::new (static_cast<void *>(place)) U(std::forward<Args>(args)...);
  }
  template <class U> bool operator==(const BigAllocator<U> &) const { return true; }
};

/// `BigVector<T>(n)` has n elements of any value.
template <class T> using BigVector = std::vector<T, BigAllocator<T>>;

}  // namespace hector
