// Packed dense and convolution layers of the front-end networks.
#pragma once

#include "model.hpp"

namespace dv {

constexpr int kLayerPanel = 64;  // outputs that lie together

// How the weights of a layer are stored. Inputs are float32, but bfloat16 where the weights are.
enum LayerStorage : int { kLayerFloat = 0, kLayerHalf = 1, kLayerBfloat = 2 };

// y = b + sum over taps of W_k x_k. Panels of 64 outputs (the last may have 16, 32 or 48), each
// [tap][group of inputs][output][input of the group]; a group has 2 inputs in bfloat16,
// otherwise 1.
struct Layer {
  const void* data;   // 64-byte aligned
  const float* bias;  // [outputs padded to whole blocks]
  int outputs, inputs, taps;
  int storage;
};

// One application of a layer to consecutive rows.
struct LayerCall {
  const void* x;                 // first tap of the first row, in the type that the layer reads
  int64_t x_stride, tap_stride;  // between rows, between taps of a row, in elements
  int64_t rows;
  int activation;
  const float* add;  // [rows, outputs] added after the activation, or null; may be y
  float* y;          // [rows, outputs]
};

// Inputs of a row in memory: whole groups.
inline int layer_width(int inputs, int storage) {
  return storage == kLayerBfloat ? (inputs + 1) / 2 * 2 : inputs;
}

}  // namespace dv
