/// An array that grows to gigabytes: on large pages, without copying, and zero where nothing was written.
///
/// Looking up names is random access to hundreds of megabytes; with pages of 4 KiB every access also misses the
/// processor's table of pages. Growing moves pages rather than bytes, so that nothing is ever there twice.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace hector {

/// Bytes behind `LargeArray`.
class LargeBytes {
public:
  LargeBytes() = default;
  LargeBytes(LargeBytes &&other) noexcept
      : address(std::exchange(other.address, nullptr)), capacity(std::exchange(other.capacity, 0)) {}
  LargeBytes &operator=(LargeBytes &&other) noexcept {
    std::swap(address, other.address);
    std::swap(capacity, other.capacity);
    return *this;
  }
  ~LargeBytes();
  /// Makes room for `size` bytes, keeping those there are. False where there is no memory.
  bool grow(size_t size);
  void *get() const { return address; }
  size_t room() const { return capacity; }

private:
  void *address = nullptr;
  size_t capacity = 0;
};

template <class T> class LargeArray {
  static_assert(std::is_trivially_copyable_v<T>, "moved as pages, born as zeros");

public:
  T *data() const { return static_cast<T *>(bytes.get()); }
  T &operator[](size_t i) const { return data()[i]; }
  size_t capacity() const { return bytes.room() / sizeof(T); }
  bool reserve(size_t count) { return count <= capacity() || bytes.grow(count * sizeof(T)); }

private:
  LargeBytes bytes;
};

}  // namespace hector
