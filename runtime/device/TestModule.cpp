/// A module of kernels with static shared memory, as generated code is loaded.

#include "kernels/cuda/device.cuh"

namespace cuda = hector::cuda;

/// out[block · threads + thread] = what the block's array holds before it is written.
extern "C" __global__ void unwritten(float *out) {
  __shared__ float array[64];
  const int64_t i = cuda::blockNumber() * cuda::numThreads() + cuda::threadInBlock();
  out[i] = array[cuda::threadInBlock()];
  cuda::syncBlock();
  array[cuda::threadInBlock()] = 1.0f;
}
HECTOR_CUDA_KERNEL(unwritten)

/// Each thread reads what another one has written.
extern "C" __global__ void reversed(int *out) {
  __shared__ int array[64];
  const int thread = cuda::threadInBlock();
  array[thread] = thread + static_cast<int>(cuda::blockNumber()) * 64;
  cuda::syncBlock();
  out[cuda::blockNumber() * 64 + thread] = array[63 - thread];
}
HECTOR_CUDA_KERNEL(reversed)

extern "C" __global__ void copiesToStatic(const float *from, float *to) {
  __shared__ __align__(16) float array[4];
  cuda::copyAsync<16>(array, from);
  cuda::commitCopies();
  cuda::waitCopies<0>();
  for (int i = 0; i < 4; ++i)
    to[i] = array[i];
}
HECTOR_CUDA_KERNEL(copiesToStatic)

extern "C" __global__ void copiesToGlobal(const float *from, float *to) {
  cuda::copyAsync<16>(to, from);
}
HECTOR_CUDA_KERNEL(copiesToGlobal)
