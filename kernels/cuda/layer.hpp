// The weights of one layer on the device.
#pragma once

#include <mutex>

#include "dense.hpp"
#include "recurrent.hpp"

namespace dv::cuda {

class DeviceLayer {
 public:
  // weight [outputs, taps, inputs], bias [outputs] or null; all sizes at least 1. With `bfloat`,
  // weights and inputs are rounded to bfloat16 and summed in float32.
  DeviceLayer(const float* weight, const float* bias, int64_t outputs, int64_t taps, int64_t inputs,
              bool bfloat);

  const AffineWeights& weights() const { return weights_; }

  // The same weights [3 hidden, hidden] as the recurrent part of a GRU, arranged at first use; with
  // zeros for a bias that is not there.
  const float* arranged() const;
  const float* gru_bias() const;

 private:
  void arrange() const;

  AffineWeights weights_{};
  Buffer<float> data_, bias_;
  mutable std::once_flag once_;
  mutable Buffer<float> arranged_, gru_bias_;
};

}  // namespace dv::cuda
