// How a WaveNet is spread over the blocks of a cluster, and its weights packed for that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../cpu/sizes.hpp"
#include "runtime.hpp"
#include "wavenet_kernel.hpp"
#include "wavenet_model.hpp"

namespace dv::cuda {

// Zero leaves the choice to the plan.
struct PlanWishes {
  int columns = 0;       // streams that share a pass over the weights: 1, 4 or 8
  int cluster = 0;       // blocks that hold the model: 1, 2, 4, 8 or 16
  int groups = 0;        // of `columns` streams that follow each other through a cluster
  int threads = 0;       // of a block: whole warps, at most most_threads(columns)
  int shared_bytes = 0;  // of a block, if less than the device has
};

struct Plan {
  int columns, cluster, groups, threads;
  int clusters;  // side by side
  Layout layout;
  std::vector<Stage> stages;
  int64_t streamed_bytes;  // of weights that found no room in shared memory, most of any block
  std::vector<unsigned char> weights;

  int streams() const { return clusters * groups * columns; }  // at a time
};

// Row-major tensors that are kept for packing, in the order of WaveNetTensors.
struct TensorCopies {
  std::vector<float> input_weight, input_bias, past_weight, current_weight, residual_weight,
      residual_bias, skip_weight, bunch_weight, bunch_bias, draw_weight, output_weight, output_bias,
      amplitudes;  // of the codes

  TensorCopies(const WaveNetSizes& sizes, const WaveNetTensors& tensors);
  bool fit_half() const;  // every weight is a half-precision number
};

WaveNetDimensions dimensions_of(const WaveNetSizes& sizes);

// Chooses and packs. `streams` is how many there are to run at a time. Throws std::invalid_argument
// for wishes that cannot be fulfilled, with those that can.
Plan make_plan(const WaveNetSizes& sizes, const TensorCopies& tensors, WeightStorage storage,
               const DeviceInfo& device, int streams, const PlanWishes& wishes);

}  // namespace dv::cuda
