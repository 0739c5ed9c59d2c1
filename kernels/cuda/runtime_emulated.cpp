// The emulated twin of runtime_device.cpp: the device is this process, its memory the host's.
//
// New memory is filled with the bits of a NaN, so that a kernel that reads what nobody wrote shows
// it, and every array has a block of its own, so that AddressSanitizer sees most of whatever leaves
// it.
#include "runtime_emulated.hpp"

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include "runtime.hpp"

namespace dv::cuda {
namespace {

DeviceInfo described(int capability) {
  const int shared = capability >= 90   ? 232448
                     : capability == 80 ? 166912
                     : capability > 80  ? 101376
                                        : 65536;
  return DeviceInfo{"emulated", capability / 10,  capability % 10, 4,
                    shared,     int64_t{1} << 34, capability >= 90};
}

DeviceInfo& emulated_device() {
  static DeviceInfo info = described(90);
  return info;
}

}  // namespace

std::string why_unavailable() { return ""; }

const DeviceInfo& device_info() { return emulated_device(); }

void set_emulated_capability(int capability) {
  if (capability != 75 && capability != 80 && capability != 89 && capability != 90)
    throw std::invalid_argument("capability " + std::to_string(capability) +
                                ": expected 75, 80, 89 or 90");
  emulated_device() = described(capability);
}

StreamHandle thread_stream() { return nullptr; }

void* allocate(size_t bytes, StreamHandle) {
  void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0xff, bytes);
  return memory;
}

void release(void* memory, StreamHandle) noexcept { std::free(memory); }

void copy_in(void* to_device, const void* from_host, size_t bytes, StreamHandle) {
  std::memcpy(to_device, from_host, bytes);
}

void copy_out(void* to_host, const void* from_device, size_t bytes, StreamHandle) {
  std::memcpy(to_host, from_device, bytes);
}

void fill_zero(void* device, size_t bytes, StreamHandle) { std::memset(device, 0, bytes); }

void wait(StreamHandle) {}

}  // namespace dv::cuda
