// All that differs between nvcc and a C++ compiler: attributes, thread numbers, barriers, shuffles,
// shared memory, clusters, number formats, launches. Everything else in this folder is plain C++ on
// top of it, so that the same sources run on a device and, against emulation.hpp, on any machine.
//
// A kernel is `DV_KERNEL(most_threads) name(Arguments)` with one argument that can be copied byte
// by byte; all its shared memory is the block's dynamic one, from `shared_memory()`; blocks have
// whole warps and every lane of a warp takes part in a shuffle.
#pragma once

#include <cstdint>
#include <cstring>

namespace dv::cuda {

constexpr int kWarp = 32;

// The shape of a launch. Clusters lie one after the other: block b is in cluster b / cluster.
struct Grid {
  int blocks;
  int cluster;  // blocks of one cluster; 1 is none
  int threads;  // of a block
  int shared_bytes;
};

struct alignas(16) Float4 {
  float x[4];
};
struct alignas(8) Float2 {
  float x[2];
};
struct Half {
  uint16_t bits;
};
struct Bfloat {
  uint16_t bits;
};

}  // namespace dv::cuda

#ifdef DV_EMULATE
#include "emulation.hpp"
#elif defined(__CUDACC__)  // the host's compiler sees no more than the types above

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

#define DV_KERNEL(most_threads) __global__ void __launch_bounds__(most_threads, 1)
#define DV_DEVICE __device__ __forceinline__
#define DV_UNROLL _Pragma("unroll")
#define DV_UNROLL_TWICE _Pragma("unroll 2")
#define DV_ROLLED _Pragma("unroll 1")  // where copies of the body would take too many registers

namespace dv::cuda {

// Thread, warp and block numbers.
DV_DEVICE int thread_index() { return static_cast<int>(threadIdx.x); }
DV_DEVICE int thread_count() { return static_cast<int>(blockDim.x); }
DV_DEVICE int lane_index() { return static_cast<int>(threadIdx.x) & (kWarp - 1); }
DV_DEVICE int warp_index() { return static_cast<int>(threadIdx.x) / kWarp; }
DV_DEVICE int warp_count() { return static_cast<int>(blockDim.x) / kWarp; }
DV_DEVICE int block_index() { return static_cast<int>(blockIdx.x); }
DV_DEVICE int block_count() { return static_cast<int>(gridDim.x); }

// The dynamic shared memory of this block.
DV_DEVICE unsigned char* shared_memory() {
  extern __shared__ __align__(128) unsigned char dv_shared[];
  return dv_shared;
}

// Barriers of a block, of some warps of it, and of a warp.
DV_DEVICE void block_barrier() { __syncthreads(); }
DV_DEVICE void named_barrier(int id, int threads) {  // id 1 to 15
  asm volatile("bar.sync %0, %1;" : : "r"(id), "r"(threads) : "memory");
}
DV_DEVICE void warp_barrier() { __syncwarp(); }

// Shuffles of 4-byte or 8-byte values among the 32 lanes of a warp; all of them call.
template <class T>
DV_DEVICE T shuffle(T value, int from) {
  return __shfl_sync(0xffffffffu, value, from);
}
template <class T>
DV_DEVICE T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(0xffffffffu, value, mask);
}
template <class T>
DV_DEVICE T shuffle_up(T value, int by) {  // the first `by` lanes keep theirs
  return __shfl_up_sync(0xffffffffu, value, by);
}
template <class T>
DV_DEVICE T shuffle_down(T value, int by) {  // the last `by` lanes keep theirs
  return __shfl_down_sync(0xffffffffu, value, by);
}
DV_DEVICE unsigned ballot(bool value) { return __ballot_sync(0xffffffffu, value); }
DV_DEVICE int lowest_bit(unsigned bits) { return __ffs(static_cast<int>(bits)) - 1; }  // -1 of none
DV_DEVICE int highest_bit(unsigned bits) { return 31 - __clz(static_cast<int>(bits)); }

// Clusters (compute capability 9.0 and up; elsewhere every block is a cluster of its own).
// cluster_arrive releases what this thread wrote, cluster_wait acquires what all others did.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
DV_DEVICE int cluster_rank() { return static_cast<int>(__clusterRelativeBlockRank()); }
DV_DEVICE int cluster_size() { return static_cast<int>(__clusterSizeInBlocks()); }
DV_DEVICE void cluster_arrive() { __cluster_barrier_arrive(); }
DV_DEVICE void cluster_wait() { __cluster_barrier_wait(); }
// The same place in the shared memory of another block of the cluster.
template <class T>
DV_DEVICE T* remote(T* mine, int rank) {
  return static_cast<T*>(__cluster_map_shared_rank(mine, static_cast<unsigned>(rank)));
}
#else
DV_DEVICE int cluster_rank() { return 0; }
DV_DEVICE int cluster_size() { return 1; }
DV_DEVICE void cluster_arrive() {}
DV_DEVICE void cluster_wait() { __syncthreads(); }
template <class T>
DV_DEVICE T* remote(T* mine, int) {
  return mine;
}
#endif
DV_DEVICE void cluster_barrier() {
  cluster_arrive();
  cluster_wait();
}

// Memory.
template <class T>
DV_DEVICE T read_only(const T* at) {  // global memory that nobody writes while the kernel runs
  return __ldg(at);
}
DV_DEVICE int atomic_add(int* at, int value) { return atomicAdd(at, value); }
DV_DEVICE float atomic_add(float* at, float value) { return atomicAdd(at, value); }

// Arithmetic.
DV_DEVICE float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
DV_DEVICE float as_float(uint32_t bits) { return __uint_as_float(bits); }
DV_DEVICE uint32_t as_bits(float value) { return __float_as_uint(value); }
DV_DEVICE float round_even(float value) { return rintf(value); }
DV_DEVICE uint64_t multiply_high(uint64_t a, uint64_t b) { return __umul64hi(a, b); }
DV_DEVICE float to_float(float value) { return value; }
DV_DEVICE float to_float(Half value) { return __half2float(__ushort_as_half(value.bits)); }
DV_DEVICE float to_float(Bfloat value) { return __uint_as_float(uint32_t{value.bits} << 16); }

// Starts a kernel. Throws std::runtime_error if the device refuses it.
template <class Arguments>
void launch(void (*kernel)(Arguments), const Grid& grid, void* stream, const Arguments& arguments) {
  const auto check = [](cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    cudaGetLastError();
    throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
  };
  const void* const function = reinterpret_cast<const void*>(kernel);
  if (grid.shared_bytes > 48 * 1024)
    check(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               grid.shared_bytes),
          "asking for shared memory");
  if (grid.cluster > 8)
    check(cudaFuncSetAttribute(function, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
          "asking for a large cluster");
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(grid.blocks));
  config.blockDim = dim3(static_cast<unsigned>(grid.threads));
  config.dynamicSmemBytes = static_cast<size_t>(grid.shared_bytes);
  config.stream = static_cast<cudaStream_t>(stream);
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = static_cast<unsigned>(grid.cluster);
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = grid.cluster > 1 ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, arguments), "starting a kernel");
}

}  // namespace dv::cuda

#endif
