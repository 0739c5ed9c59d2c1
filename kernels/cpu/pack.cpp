#include "pack.hpp"

#include <algorithm>
#include <cmath>

#include "half.hpp"

namespace dv {
namespace {

// Whole number nearest to value, ties to even, within +-127; a NaN becomes -127.
int8_t to_int8(float value) {
  const float clipped = value > -127.0f ? (value < 127.0f ? value : 127.0f) : -127.0f;
  return static_cast<int8_t>(std::nearbyint(clipped));
}

float largest(const float* row, int64_t inputs) {
  float most = 0.0f;
  for (int64_t i = 0; row != nullptr && i < inputs; ++i) most = std::max(most, std::fabs(row[i]));
  return most;
}

// What one unit of an int8 weight stands for, a number a row.
std::vector<float> row_steps(const Rows& rows, const Rows* second) {
  std::vector<float> steps;
  for (size_t o = 0; o < rows.list.size(); ++o) {
    float most = largest(rows.list[o], rows.inputs);
    if (second != nullptr) most = std::max(most, largest(second->list[o], second->inputs));
    steps.push_back(most > 0.0f ? most / 127.0f : 1.0f);
  }
  return steps;
}

int32_t sum_of_row(const float* row, int64_t inputs, float step) {
  int32_t sum = 0;
  for (int64_t i = 0; row != nullptr && i < inputs; ++i) sum += to_int8(row[i] / step);
  return sum;
}

int64_t groups_of(int64_t inputs, int group) { return (inputs + group - 1) / group; }

int group_of(int storage, const Table& functions) {
  return storage == kInt8 ? functions.int8_group : storage == kBfloat ? 2 : 1;
}

// Writes the weights in the order of the layout; `convert(value, row)` is how one is stored.
template <class T, class Convert>
void fill(const Rows& rows, int group, T* to, const Convert& convert) {
  const int64_t outputs = static_cast<int64_t>(rows.list.size());
  for (int64_t first = 0; first < outputs; first += kPanel) {
    const int64_t last = std::min<int64_t>(first + kPanel, outputs);
    for (int64_t g = 0; g < groups_of(rows.inputs, group); ++g) {
      for (int64_t o = first; o < last; ++o) {
        const float* const row = rows.list[static_cast<size_t>(o)];
        for (int64_t i = g * group; i < (g + 1) * group; ++i)
          *to++ = convert(row != nullptr && i < rows.inputs ? row[i] : 0.0f, o);
      }
    }
  }
}

// Packs the weights alone; `steps` are the scales of the rows in kInt8.
const unsigned char* pack_weights(const Rows& rows, int storage, const std::vector<float>& steps,
                                  const Table& functions, Arena* arena) {
  static const size_t kBytes[] = {4, 2, 2, 1};  // of a weight, by Storage
  const int group = group_of(storage, functions);
  const size_t inputs = static_cast<size_t>(groups_of(rows.inputs, group) * group);
  unsigned char* const data =
      arena->take<unsigned char>(rows.list.size() * inputs * kBytes[storage]);
  if (!arena->allocated()) return data;
  if (storage == kInt8) {
    fill(rows, group, reinterpret_cast<int8_t*>(data), [&](float value, int64_t row) {
      return to_int8(value / steps[static_cast<size_t>(row)]);
    });
  } else if (storage == kBfloat) {
    fill(rows, group, reinterpret_cast<uint16_t*>(data),
         [](float value, int64_t) { return to_bfloat(value); });
  } else if (storage == kHalf) {
    fill(rows, group, reinterpret_cast<uint16_t*>(data), [](float value, int64_t) {
      uint16_t half = 0;
      to_half_exactly(value, &half);
      return half;
    });
  } else {
    fill(rows, group, reinterpret_cast<float*>(data), [](float value, int64_t) { return value; });
  }
  return data;
}

}  // namespace

void Rows::append(const float* from, int64_t count, int64_t padded_count) {
  for (int64_t r = 0; r < padded_count; ++r)
    list.push_back(r < count ? from + r * inputs : nullptr);
}

bool fits_half(const Rows& rows) {
  uint16_t ignored;
  return std::all_of(rows.list.begin(), rows.list.end(), [&](const float* row) {
    return row == nullptr || std::all_of(row, row + rows.inputs,
                                         [&](float w) { return to_half_exactly(w, &ignored); });
  });
}

Matrix pack_matrix(const Rows& rows, const Rows* second, Storage storage, InputRange range,
                   const Table& functions, Arena* arena) {
  Matrix m{};
  m.outputs = static_cast<int>(rows.list.size());
  m.inputs = static_cast<int>(rows.inputs);
  m.inputs2 = second == nullptr ? 0 : static_cast<int>(second->inputs);
  m.storage = storage;
  m.rectified = range.rectified;
  m.unit = range.limit / (range.rectified ? 255.0f : 127.0f);
  m.inverse_unit = 1.0f / m.unit;
  const std::vector<float> steps =
      storage == kInt8 ? row_steps(rows, second) : std::vector<float>();
  m.data = pack_weights(rows, storage, steps, functions, arena);
  if (storage != kInt8) return m;
  float* const scale = arena->take<float>(rows.list.size());
  int32_t* const offset = arena->take<int32_t>(rows.list.size());
  m.scale = scale;
  m.offset = offset;
  for (size_t o = 0; arena->allocated() && o < rows.list.size(); ++o) {
    scale[o] = steps[o] * m.unit;
    int32_t sum = sum_of_row(rows.list[o], rows.inputs, steps[o]);
    if (second != nullptr) sum += sum_of_row(second->list[o], second->inputs, steps[o]);
    offset[o] = -(range.rectified ? functions.int8_rectified_zero : functions.int8_zero) * sum;
  }
  return m;
}

void pack_second(const Rows& rows, const Rows& second, const Table& functions, Matrix* m,
                 Arena* arena) {
  const std::vector<float> steps =
      m->storage == kInt8 ? row_steps(rows, &second) : std::vector<float>();
  m->data2 = pack_weights(second, m->storage, steps, functions, arena);
}

const float* pack_vector(const float* values, int64_t count, int64_t padded_count, Arena* arena,
                         int64_t repeats) {
  float* const data = arena->take<float>(static_cast<size_t>(padded_count * repeats));
  for (int64_t r = 0; data != nullptr && r < repeats; ++r)
    std::copy(values + r * count, values + (r + 1) * count, data + r * padded_count);
  return data;
}

}  // namespace dv
