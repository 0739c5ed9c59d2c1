// What a WaveNet is made of before it is laid out for a machine: sizes, tensors, precision.
#pragma once

#include <cstdint>
#include <vector>

namespace dv {

struct WaveNetSizes {
  int64_t hop, bunch;
  std::vector<int64_t> dilations;
  int64_t residual, skip, head, levels, history, head_history, harmonics, lpc_order;
  double pre_emphasis, signal_gain, code_scale;

  int64_t layers() const { return static_cast<int64_t>(dilations.size()); }
  int64_t past() const;
  int64_t dilation_sum() const;
  int64_t conditioning() const { return 2 * residual * layers() + skip; }

  // Throws std::invalid_argument unless every size is within its limits (kernels/weights.py).
  void check() const;
};

// How the large matrices are stored; the input matrix and the draws keep float32 (or half precision
// where that is exact).
enum class Precision : int { kFloat32 = 0, kBfloat16 = 1, kInt8 = 2 };

// Row-major tensors, shapes as in kernels/weights.py. Only read while WaveNet is being made.
struct WaveNetTensors {
  const float *input_weight, *input_bias, *past_weight, *current_weight, *residual_weight,
      *residual_bias, *skip_weight, *bunch_weight, *bunch_bias, *draw_weight, *output_weight,
      *output_bias;
  const float* limits;  // [layers + 2]: largest input of each gate, of bunch and output; or null
};

// Throws std::invalid_argument, with the name, for a number outside low to high.
void check_number(const char* name, double value, double low, double high);

// The amplitude of every code, as kernels/reference/wavenet.py says.
std::vector<float> level_amplitudes(const WaveNetSizes& sizes);

}  // namespace dv
