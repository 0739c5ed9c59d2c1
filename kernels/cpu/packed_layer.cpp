#include "packed_layer.hpp"

#include <algorithm>
#include <cstring>

#include "dispatch.hpp"
#include "half.hpp"

namespace dv {

namespace {

int storage_for(const float* weight, int64_t count, bool bfloat) {
  if (bfloat) return kLayerBfloat;
  uint16_t ignored;
  const bool exact = table().half_weights && std::all_of(weight, weight + count, [&](float w) {
                       return to_half_exactly(w, &ignored);
                     });
  return exact ? kLayerHalf : kLayerFloat;
}

void store_weight(float w, int storage, unsigned char* to) {
  if (storage == kLayerFloat) {
    std::memcpy(to, &w, sizeof w);
  } else {
    uint16_t bits = to_bfloat(w);
    if (storage == kLayerHalf) to_half_exactly(w, &bits);
    std::memcpy(to, &bits, sizeof bits);
  }
}

}  // namespace

PackedLayer::PackedLayer(const float* weight, const float* bias, int64_t outputs, int64_t taps,
                         int64_t inputs, bool bfloat) {
  layer_.storage = storage_for(weight, outputs * taps * inputs, bfloat);
  layer_.outputs = static_cast<int>(outputs);
  layer_.inputs = static_cast<int>(inputs);
  layer_.taps = static_cast<int>(taps);
  const int64_t all = padded(layer_.outputs), width = layer_width(layer_.inputs, layer_.storage);
  const int64_t group = layer_.storage == kLayerBfloat ? 2 : 1;
  const int64_t size = layer_.storage == kLayerFloat ? 4 : 2;
  data_ = AlignedArray<unsigned char>(static_cast<size_t>(all * taps * width * size));
  bias_ = AlignedArray<float>(static_cast<size_t>(all));
  if (bias != nullptr) std::copy(bias, bias + outputs, bias_.get());
  for (int64_t o = 0; o < outputs; ++o) {
    const int64_t first = o / kLayerPanel * kLayerPanel;
    const int64_t panel = std::min<int64_t>(kLayerPanel, all - first);
    for (int64_t k = 0; k < taps; ++k) {
      for (int64_t i = 0; i < inputs; ++i) {
        const int64_t row = (k * width + i) / group;
        const int64_t at = first * taps * width + (row * panel + o - first) * group + i % group;
        store_weight(weight[(o * taps + k) * inputs + i], layer_.storage, data_.get() + at * size);
      }
    }
  }
  layer_.data = data_.get();
  layer_.bias = bias_.get();
}

namespace {

// Rows of a layer's input with zeros around them, in the type that the layer reads.
class PaddedRows {
 public:
  PaddedRows(const Layer& layer, int64_t before, int64_t rows, int64_t after)
      : width_(layer_width(layer.inputs, layer.storage)),
        size_(layer.storage == kLayerBfloat ? 2 : 4),
        before_(before),
        data_(static_cast<size_t>((before + rows + after) * width_ * size_)) {}

  int64_t width() const { return width_; }
  unsigned char* row(int64_t t) { return data_.get() + (before_ + t) * width_ * size_; }

 private:
  int64_t width_, size_, before_;
  AlignedArray<unsigned char> data_;
};

}  // namespace

void PackedLayer::apply(const float* x, int64_t rows, int64_t left, int64_t dilation,
                        int activation, float* y) const {
  const Table& functions = table();
  const Layer& l = layer_;
  if (l.taps == 1 && left == 0 && l.storage != kLayerBfloat) {
    functions.affine(l, {x, l.inputs, 0, rows, activation, nullptr, y});
    return;
  }
  const int64_t right = std::max<int64_t>(0, (l.taps - 1) * dilation - left);
  PaddedRows padded_rows(l, left, rows, right);
  const int64_t width = padded_rows.width();
  for (int64_t t = 0; t < rows; ++t)
    functions.encode(x + t * l.inputs, l.inputs, l.storage, padded_rows.row(t));
  functions.affine(l,
                   {padded_rows.row(-left), width, dilation * width, rows, activation, nullptr, y});
}

void PackedLayer::residual(const float* x, const float* norm_weight, const float* norm_bias,
                           int64_t rows, int64_t dilation, float* y) const {
  const Table& functions = table();
  const Layer& l = layer_;
  const int64_t left = l.taps / 2 * dilation;
  PaddedRows padded_rows(l, left, rows, left);
  const int64_t width = padded_rows.width();
  functions.layer_norm(x, norm_weight, norm_bias, rows, l.inputs, l.storage, padded_rows.row(0),
                       width);
  functions.affine(l, {padded_rows.row(-left), width, dilation * width, rows, kRelu, x, y});
}

void layer_norm(const float* x, const float* weight, const float* bias, int64_t rows,
                int64_t channels, float* y) {
  table().layer_norm(x, weight, bias, rows, channels, kLayerFloat, y, channels);
}

void run_gru(const PackedLayer& input, const PackedLayer& recurrent, const float* x, int64_t rows,
             bool reverse, float* h, float* y) {
  constexpr int64_t kRows = 64;  // rows whose input parts are computed together
  const Table& functions = table();
  const int64_t gates = input.layer().outputs, hidden = gates / 3, width = input.layer().inputs;
  AlignedArray<float> given(static_cast<size_t>(std::min(kRows, rows) * gates));
  AlignedArray<float> fed_back(static_cast<size_t>(gates));
  for (int64_t done = 0; done < rows; done += kRows) {
    const int64_t count = std::min(kRows, rows - done);
    const int64_t first = reverse ? rows - done - count : done;
    input.apply(x + first * width, count, 0, 1, kNone, given.get());
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = reverse ? count - 1 - i : i;
      recurrent.apply(h, 1, 0, 1, kNone, fed_back.get());
      functions.gru_gates(given.get() + row * gates, fed_back.get(), hidden, h,
                          y + (first + row) * hidden);
    }
  }
}

}  // namespace dv
