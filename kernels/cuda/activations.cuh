// The elementary functions of the layers, as the numpy reference writes them.
#pragma once

#include <math.h>

#include "dense.hpp"
#include "portable.cuh"

namespace dv::cuda {

DV_DEVICE float sigmoid(float x) { return 0.5f + 0.5f * tanhf(0.5f * x); }

DV_DEVICE float activate(float x, int activation) {
  if (activation == kRelu) return x > 0.0f ? x : (x == x ? 0.0f : x);  // a NaN stays one
  if (activation == kTanh) return tanhf(x);
  return activation == kSigmoid ? sigmoid(x) : x;
}

// The nearest bfloat16 number, ties to even; a NaN stays one.
DV_DEVICE float round_to_bfloat(float x) {
  const uint32_t bits = as_bits(x);
  const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
  return x == x ? as_float(rounded) : x;
}

}  // namespace dv::cuda
