#include "layer.hpp"

#include <cstring>
#include <stdexcept>
#include <vector>

namespace dv::cuda {
namespace {

float rounded_to_bfloat(float value) {
  if (value != value) return value;
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u;
  std::memcpy(&value, &bits, sizeof bits);
  return value;
}

}  // namespace

DeviceLayer::DeviceLayer(const float* weight, const float* bias, int64_t outputs, int64_t taps,
                         int64_t inputs, bool bfloat) {
  const int64_t depth = taps * inputs;
  std::vector<float> turned(static_cast<size_t>(depth * outputs));
  for (int64_t o = 0; o < outputs; ++o)
    for (int64_t k = 0; k < depth; ++k) {
      const float value = weight[o * depth + k];
      turned[static_cast<size_t>(k * outputs + o)] = bfloat ? rounded_to_bfloat(value) : value;
    }
  const StreamHandle stream = thread_stream();
  data_ = Buffer<float>(turned.data(), turned.size(), stream);
  if (bias != nullptr) bias_ = Buffer<float>(bias, static_cast<size_t>(outputs), stream);
  wait(stream);  // from now on any stream may read it
  weights_ = AffineWeights{data_.get(),
                           bias_.get(),
                           static_cast<int>(outputs),
                           static_cast<int>(taps),
                           static_cast<int>(inputs),
                           bfloat};
}

const float* DeviceLayer::arranged() const {
  std::call_once(once_, [this] { arrange(); });
  return arranged_.get();
}

const float* DeviceLayer::gru_bias() const {
  arranged();
  return gru_bias_.get();
}

void DeviceLayer::arrange() const {
  const auto hidden = static_cast<size_t>(weights_.inputs);
  if (weights_.taps != 1 || static_cast<size_t>(weights_.outputs) != 3 * hidden)
    throw std::invalid_argument("the recurrent layer of a GRU has three outputs an input");
  const StreamHandle stream = thread_stream();
  std::vector<float> turned(3 * hidden * hidden), w_hh(3 * hidden * hidden), bias(3 * hidden, 0.0f);
  copy_out(turned.data(), data_.get(), turned.size() * sizeof(float), stream);
  if (weights_.bias != nullptr) bias_.copy_to(bias.data());
  wait(stream);
  for (size_t o = 0; o < 3 * hidden; ++o)
    for (size_t k = 0; k < hidden; ++k) w_hh[o * hidden + k] = turned[k * 3 * hidden + o];
  const GruPlan plan = plan_gru(weights_.inputs, 1, device_info());
  const std::vector<float> values = arrange_gru(plan, w_hh.data());
  arranged_ = Buffer<float>(values.data(), values.size(), stream);
  gru_bias_ = Buffer<float>(bias.data(), bias.size(), stream);
  wait(stream);
}

}  // namespace dv::cuda
