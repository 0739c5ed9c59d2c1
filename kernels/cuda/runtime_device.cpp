// The device's memory and streams through the CUDA runtime, which is linked statically and looks
// for the driver at its first call: a machine without one loads this module all the same.
#include <cuda_runtime_api.h>

#include <stdexcept>

#include "runtime.hpp"

namespace dv::cuda {
namespace {

constexpr int kLeastMajor = 7, kLeastMinor = 5;  // what the kernels are compiled for

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // or the next call would report it again
  throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(error));
}

int attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  check(cudaGetDevice(&device), "finding the device");
  check(cudaDeviceGetAttribute(&value, which, device), "asking for its properties");
  return value;
}

DeviceInfo ask() {
  int device = 0;
  check(cudaGetDevice(&device), "finding the device");
  cudaDeviceProp given{};
  check(cudaGetDeviceProperties(&given, device), "asking for its properties");
  return DeviceInfo{given.name,
                    given.major,
                    given.minor,
                    given.multiProcessorCount,
                    static_cast<int>(given.sharedMemPerBlockOptin),
                    static_cast<int64_t>(given.totalGlobalMem),
                    given.major >= 9};
}

cudaStream_t native(StreamHandle stream) { return static_cast<cudaStream_t>(stream); }

}  // namespace

std::string why_unavailable() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess) {
    cudaGetLastError();
    return error == cudaErrorInsufficientDriver
               ? "there is no NVIDIA driver, or it is older than this build of deepvoice"
               : cudaGetErrorString(error);
  }
  if (count == 0) return "the NVIDIA driver finds no device";
  try {
    const DeviceInfo& info = device_info();
    if (info.major * 10 + info.minor < kLeastMajor * 10 + kLeastMinor)
      return info.name + " has compute capability " + std::to_string(info.major) + "." +
             std::to_string(info.minor) + ", 7.5 is the least";
    if (attribute(cudaDevAttrMemoryPoolsSupported) == 0)
      return info.name + ": its driver has no memory pools; install a newer one";
  } catch (const std::exception& trouble) {
    return trouble.what();
  }
  return "";
}

const DeviceInfo& device_info() {
  static const DeviceInfo info = ask();
  return info;
}

StreamHandle thread_stream() {
  struct Owned {
    cudaStream_t stream = nullptr;
    Owned() {
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
      int device = 0;
      cudaMemPool_t pool = nullptr;
      uint64_t keep = UINT64_MAX;  // or the pool would give its memory back at every wait
      check(cudaGetDevice(&device), "finding the device");
      check(cudaDeviceGetDefaultMemPool(&pool, device), "finding its memory");
      check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep),
            "keeping memory");
    }
  };
  // Never destroyed: a buffer may be released by another thread after this one has ended.
  thread_local const Owned* const owned = new Owned;
  return owned->stream;
}

void* allocate(size_t bytes, StreamHandle stream) {
  void* memory = nullptr;
  check(cudaMallocAsync(&memory, bytes, native(stream)), "allocating memory");
  return memory;
}

void release(void* memory, StreamHandle stream) noexcept {
  cudaFreeAsync(memory, native(stream));  // an error here means that the process is ending
}

void copy_in(void* to_device, const void* from_host, size_t bytes, StreamHandle stream) {
  check(cudaMemcpyAsync(to_device, from_host, bytes, cudaMemcpyHostToDevice, native(stream)),
        "copying to the device");
}

void copy_out(void* to_host, const void* from_device, size_t bytes, StreamHandle stream) {
  check(cudaMemcpyAsync(to_host, from_device, bytes, cudaMemcpyDeviceToHost, native(stream)),
        "copying from the device");
}

void fill_zero(void* device, size_t bytes, StreamHandle stream) {
  check(cudaMemsetAsync(device, 0, bytes, native(stream)), "clearing memory");
}

void wait(StreamHandle stream) { check(cudaStreamSynchronize(native(stream)), "running a kernel"); }

}  // namespace dv::cuda
