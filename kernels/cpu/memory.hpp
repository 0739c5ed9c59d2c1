// Memory aligned for the widest vectors.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace dv {

constexpr std::size_t kAlignment = 4096;  // a page, so that neighbours spread over the cache alike

struct AlignedDelete {
  void operator()(void* p) const { ::operator delete(p, std::align_val_t(kAlignment)); }
};

// A zero-filled array; throws std::bad_alloc.
template <class T>
class AlignedArray {
 public:
  AlignedArray() = default;
  explicit AlignedArray(std::size_t count)
      : data_(static_cast<T*>(::operator new(bytes(count), std::align_val_t(kAlignment)))) {
    std::memset(data_.get(), 0, bytes(count));
  }
  T* get() { return data_.get(); }
  const T* get() const { return data_.get(); }

 private:
  static std::size_t bytes(std::size_t count) { return (count ? count : 1) * sizeof(T); }
  std::unique_ptr<T, AlignedDelete> data_;
};

}  // namespace dv
