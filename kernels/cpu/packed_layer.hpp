// Owns the packed weights of one layer.
#pragma once

#include <cstdint>

#include "layers.hpp"
#include "memory.hpp"

namespace dv {

class PackedLayer {
 public:
  // weight [outputs, taps, inputs], bias [outputs] or null; all sizes at least 1. The weights are
  // stored in bfloat16 when that is wanted, otherwise in half precision where it holds them exactly
  // and the instruction set reads it, otherwise in float32.
  PackedLayer(const float* weight, const float* bias, int64_t outputs, int64_t taps, int64_t inputs,
              bool bfloat);

  const Layer& layer() const { return layer_; }

  // y [rows, outputs] = activation(layer of windows of x [rows, inputs]), zeros outside x; the
  // first tap of row t is x[t - left], the next ones lie `dilation` rows later.
  void apply(const float* x, int64_t rows, int64_t left, int64_t dilation, int activation,
             float* y) const;

  // y [rows, channels] = x + relu(layer of the normalised rows of x), centred taps.
  // Needs as many outputs as inputs.
  void residual(const float* x, const float* norm_weight, const float* norm_bias, int64_t rows,
                int64_t dilation, float* y) const;

 private:
  Layer layer_{};
  AlignedArray<unsigned char> data_;
  AlignedArray<float> bias_;
};

// y [rows, channels]: rows of x with mean 0 and variance 1, scaled and shifted.
void layer_norm(const float* x, const float* weight, const float* bias, int64_t rows,
                int64_t channels, float* y);

// One direction of a GRU over x [rows, inputs]; h [hidden] is updated in place, y [rows, hidden].
void run_gru(const PackedLayer& input, const PackedLayer& recurrent, const float* x, int64_t rows,
             bool reverse, float* h, float* y);

}  // namespace dv
