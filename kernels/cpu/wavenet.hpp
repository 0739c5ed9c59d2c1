// A WaveNet ready to run: checks sizes, packs the weights once for each storage format.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "memory.hpp"
#include "table.hpp"

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

// Row-major tensors, shapes as in kernels/weights.py. Only read while WaveNet is being made.
struct WaveNetTensors {
  const float *input_weight, *input_bias, *past_weight, *current_weight, *residual_weight,
      *residual_bias, *skip_weight, *bunch_weight, *bunch_bias, *draw_weight, *output_weight,
      *output_bias;
};

class WaveNet {
 public:
  WaveNet(const WaveNetSizes& sizes, const WaveNetTensors& tensors);

  const WaveNetSizes& sizes() const { return sizes_; }

  // Runs with the instruction set in use; the arrays of `run` must have the sizes of this WaveNet.
  // Safe from several threads.
  void run(const WaveNetRun& run);

 private:
  struct Packed;  // weights in one storage format
  const WaveNetModel& model(bool half);
  std::unique_ptr<Packed> pack(bool half) const;

  WaveNetSizes sizes_;
  std::vector<std::vector<float>> tensors_;  // copies, in the order of WaveNetTensors
  std::mutex mutex_;
  std::unique_ptr<Packed> packed_[2];

 public:
  ~WaveNet();
};

}  // namespace dv
