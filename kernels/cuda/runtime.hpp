// Memory, streams and properties of the device; the emulated twin has the host's memory instead.
//
// Errors are thrown as std::runtime_error with the runtime's own words. Nothing here happens when
// the module is loaded: the driver is asked at the first call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace dv::cuda {

using StreamHandle = void*;  // a cudaStream_t

struct DeviceInfo {
  std::string name;
  int major, minor;  // compute capability
  int multiprocessors;
  int shared_bytes;  // that one block may ask for
  int64_t memory_bytes;
  bool clusters;  // thread-block clusters with distributed shared memory
};

// Why no device can be used; empty where one can.
std::string why_unavailable();
const DeviceInfo& device_info();

// The stream of the calling thread, made at its first call and kept.
StreamHandle thread_stream();

// Memory that is ordered by a stream, and its contents undefined.
void* allocate(size_t bytes, StreamHandle stream);
void release(void* memory, StreamHandle stream) noexcept;
void copy_in(void* to_device, const void* from_host, size_t bytes, StreamHandle stream);
void copy_out(void* to_host, const void* from_device, size_t bytes, StreamHandle stream);
void fill_zero(void* device, size_t bytes, StreamHandle stream);
void wait(StreamHandle stream);

// An array on the device, released in the order of its stream.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(size_t count, StreamHandle stream)
      : data_(count > 0 ? static_cast<T*>(allocate(count * sizeof(T), stream)) : nullptr),
        count_(count),
        stream_(stream) {}
  // Copies `count` values from the host.
  Buffer(const T* host, size_t count, StreamHandle stream) : Buffer(count, stream) {
    if (count > 0) copy_in(data_, host, count * sizeof(T), stream);
  }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer() {
    if (data_ != nullptr) release(data_, stream_);
  }

  T* get() const { return data_; }
  size_t size() const { return count_; }

  void copy_to(T* host) const {
    if (count_ > 0) copy_out(host, data_, count_ * sizeof(T), stream_);
  }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(stream_, other.stream_);
  }

  T* data_ = nullptr;
  size_t count_ = 0;
  StreamHandle stream_ = nullptr;
};

}  // namespace dv::cuda
