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

// A matrix with what its pointers point to, packed for an instruction set. For tests.
class PackedMatrix {
 public:
  // weight [outputs, inputs] row-major; the inputs reach `limit`.
  PackedMatrix(const float* weight, int64_t outputs, int64_t inputs, bool rectified, float limit,
               const Table& functions);
  ~PackedMatrix();
  const Matrix& matrix() const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

class WaveNet {
 public:
  // Throws std::invalid_argument for int8 without limits, or with one that is not a usable number.
  WaveNet(const WaveNetSizes& sizes, const WaveNetTensors& tensors, Precision precision);

  const WaveNetSizes& sizes() const { return sizes_; }

  // Runs any number of streams with the instruction set in use; the arrays of `runs` must have the
  // sizes of this WaveNet. Safe from several threads.
  void run(std::vector<WaveNetRun> runs);

 private:
  struct Packed;  // weights laid out for an instruction set
  const WaveNetModel& model(const Table& functions);

  WaveNetSizes sizes_;
  Precision precision_;
  std::vector<std::vector<float>> tensors_;  // copies, in the order of WaveNetTensors
  std::mutex mutex_;
  std::vector<std::unique_ptr<Packed>> packed_;

 public:
  ~WaveNet();
};

}  // namespace dv
