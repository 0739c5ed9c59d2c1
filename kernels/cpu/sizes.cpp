#include "sizes.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "model.hpp"

namespace dv {
namespace {

void check_range(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value < low || value > high)
    throw std::invalid_argument(std::string("WaveNet ") + name + " is " + std::to_string(value) +
                                ", expected " + std::to_string(low) + " to " +
                                std::to_string(high));
}

}  // namespace

void check_number(const char* name, double value, double low, double high) {
  if (!(value >= low && value <= high))
    throw std::invalid_argument(std::string("WaveNet ") + name + " is " + std::to_string(value) +
                                ", expected " + std::to_string(low) + " to " +
                                std::to_string(high));
}

int64_t WaveNetSizes::past() const { return std::max({history, head_history, lpc_order}); }

int64_t WaveNetSizes::dilation_sum() const {
  return std::accumulate(dilations.begin(), dilations.end(), int64_t{0});
}

void WaveNetSizes::check() const {
  check_range("hop", hop, 1, 4096);
  check_range("bunch", bunch, 1, kMaxLayers);
  if (hop % bunch != 0) throw std::invalid_argument("WaveNet bunch does not divide the hop");
  check_range("number of layers", layers(), 1, kMaxLayers);
  for (int64_t d : dilations) check_range("dilation", d, 1, 4096);
  check_range("sum of dilations", dilation_sum(), 1, 65536);
  check_range("residual", residual, 1, 512);
  check_range("skip", skip, 1, 1024);
  check_range("head", head, 1, 512);
  check_range("levels", levels, 2, kMaxLevels);
  check_range("history", history, 1, 256);
  check_range("head_history", head_history, 1, 256);
  check_range("harmonics", harmonics, 0, 64);
  check_range("lpc_order", lpc_order, 0, kLeadIn);
  check_number("pre_emphasis", pre_emphasis, 0.0, 0.99);
  check_number("signal_gain", signal_gain, 1e-3, 1e3);
  check_number("code_scale", code_scale, 1e-3, 1e3);
}

std::vector<float> level_amplitudes(const WaveNetSizes& z) {
  std::vector<float> amplitudes;
  const double mu = static_cast<double>(z.levels - 1);
  for (int64_t a = 0; a < z.levels; ++a) {
    const double position = static_cast<double>(a) / mu * 2.0 - 1.0;
    const double magnitude =
        std::expm1(std::fabs(position) * std::log(static_cast<double>(z.levels))) / mu;
    amplitudes.push_back(static_cast<float>(std::copysign(magnitude / z.code_scale, position)));
  }
  return amplitudes;
}

}  // namespace dv
