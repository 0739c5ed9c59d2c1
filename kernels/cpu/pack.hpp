// Lays weights out as the kernels read them (model.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "memory.hpp"
#include "table.hpp"

namespace dv {

// One block of memory for everything that is packed, so that weights lie side by side. What is
// packed is packed twice: without memory, to learn how much is needed, and then into it.
class Arena {
 public:
  // Gives out memory from here on; before, take() only counts.
  void allocate() {
    memory_ = AlignedArray<unsigned char>(used_);
    allocated_ = true;
    used_ = 0;
  }
  bool allocated() const { return allocated_; }
  std::size_t used() const { return used_; }

  // Returns 64-byte aligned, zero-filled memory, or null while only counting.
  template <class T>
  T* take(std::size_t count) {
    unsigned char* const at = allocated_ ? memory_.get() + used_ : nullptr;
    used_ += (count * sizeof(T) + 63) / 64 * 64;
    return reinterpret_cast<T*>(at);
  }

 private:
  AlignedArray<unsigned char> memory_;
  std::size_t used_ = 0;
  bool allocated_ = false;
};

// The rows of a matrix before packing, null for a row of zeros.
struct Rows {
  std::vector<const float*> list;
  int64_t inputs = 0;

  // Appends `count` rows, and zeros up to `padded_count`.
  void append(const float* from, int64_t count, int64_t padded_count);
};

// Inputs of a matrix: they reach `limit`, and are rectified (0 to limit) or signed.
struct InputRange {
  bool rectified = false;
  float limit = 1.0f;
};

// True where every weight is a half-precision number.
bool fits_half(const Rows& rows);

// Packs a matrix for the instruction set of `functions`. In kInt8, a row's scale is its largest
// magnitude / 127, and weights are rounded to the nearest step, ties to even. `second` (or null) is
// the matrix for a second vector of inputs, which shares the scales; pack_second packs it.
Matrix pack_matrix(const Rows& rows, const Rows* second, Storage storage, InputRange range,
                   const Table& functions, Arena* arena);
void pack_second(const Rows& rows, const Rows& second, const Table& functions, Matrix* m,
                 Arena* arena);

// `count` values padded to `padded_count`, `repeats` times.
const float* pack_vector(const float* values, int64_t count, int64_t padded_count, Arena* arena,
                         int64_t repeats = 1);

}  // namespace dv
