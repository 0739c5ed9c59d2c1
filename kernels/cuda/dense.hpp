// Dense layers, convolutions and normalisation of rows on the device.
//
// The order of summation of an output depends on the layer alone, so a row does not depend on the
// rows beside it. Every pointer is to memory of the device; nothing waits for the result.
#pragma once

#include <cstdint>

#include "runtime.hpp"

namespace dv::cuda {

enum Activation : int { kNone = 0, kRelu = 1, kTanh = 2, kSigmoid = 3 };  // ACTIVATIONS of ops.py

// Weights on the device, as [taps * inputs, outputs], with which one thread of a warp reads the
// output beside its neighbour's.
struct AffineWeights {
  const float* weight;
  const float* bias;  // [outputs] or null
  int outputs, taps, inputs;
  bool bfloat;  // inputs are rounded to bfloat16, as the weights were
};

// y [rows, outputs] = activation(bias + sum over taps of W_k x[t - left + k dilation]) + add,
// zeros outside x [rows, inputs]; add [rows, outputs] may be null, and may be y.
void affine(const AffineWeights& layer, const float* x, int64_t rows, int64_t left,
            int64_t dilation, Activation activation, const float* add, float* y,
            StreamHandle stream);

// y [rows, channels]: rows of x with mean 0 and variance 1, scaled and shifted.
void layer_norm(const float* x, const float* weight, const float* bias, int64_t rows, int channels,
                float* y, StreamHandle stream);

// y [count] = tanh, sigmoid, exp or log (0 to 3) of x, as the kernels compute them.
void elementary(int function, const float* x, float* y, int64_t count, StreamHandle stream);

}  // namespace dv::cuda
