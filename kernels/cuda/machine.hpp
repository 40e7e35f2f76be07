/// What kernels ask of the machine when they are executed on the host. Shared by the emulator and by generated code.
#pragma once

#include <cstdint>

namespace hector::cuda {

/// How a lane finds the lane that it takes a value from. The names are those of PTX.
enum class Shuffle : int { Index, Xor, Down, Up };

/// Where a thread is.
struct Place {
  int thread = 0;      // in its block
  int numThreads = 0;  // of a block
  int64_t block = 0;   // in its band
  int64_t numBlocks = 0;
  int band = 0;
};

/// The machine below emulated threads. Every call is made by such a thread, and concerns it, its warp or its block.
/// Calls for a warp return when all lanes of `lanes` have made the same call.
class Machine {
public:
  /// The first call of a thread. `kernel` is for messages.
  virtual void enter(const char *kernel) = 0;
  virtual const Place &place() = 0;
  /// Of the block; as many bytes as the launch says, aligned to 16.
  virtual void *sharedMemory() = 0;

  virtual void syncBlock() = 0;
  virtual void syncWarp(uint32_t lanes) = 0;
  /// Replaces a value of 4 or 8 bytes by that of another lane. `operand` is a lane, a mask or a distance.
  virtual void shuffle(void *value, int bytes, Shuffle kind, int operand, int width, uint32_t lanes) = 0;
  virtual uint32_t ballot(bool predicate, uint32_t lanes) = 0;

  /// Copies the first `filled` of `bytes` from global to shared memory, and sets the others to 0, at the wait that
  /// says so.
  virtual void copyAsync(void *to, const void *from, int bytes, int filled) = 0;
  virtual void checkMatrixRow(const void *row) = 0;
  virtual void commitCopies() = 0;
  virtual void waitCopies(int groups) = 0;

  /// The matrix instructions of a whole warp; device.cuh says which lane holds what.
  virtual void multiplyBf16(float *sums, const uint32_t *a, const uint32_t *b) = 0;
  virtual void multiplyF64(double *sums, double a, double b) = 0;

protected:
  ~Machine() = default;
};

/// A kernel as the emulator calls it, once per thread. `args` has the address of each argument.
using HostEntry = void(Machine &machine, void **args);

}  // namespace hector::cuda
