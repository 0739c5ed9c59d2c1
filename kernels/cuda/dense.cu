#include <stdexcept>

#include "dense.hpp"
#include "math.cuh"
#include "portable.cuh"

namespace dv::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kTile = 64;   // rows and outputs of a block
constexpr int kDepth = 16;  // inputs that lie in shared memory together
constexpr int kPart = 4;    // rows and outputs of a thread
constexpr int kPitch = kTile + 4;

DV_DEVICE float activate(float x, int activation) {
  if (activation == kRelu) return fmaxf(x, 0.0f);
  if (activation == kTanh) return tanh_of(x);
  return activation == kSigmoid ? sigmoid_of(x) : x;
}

struct AffineCall {
  AffineWeights layer;
  const float* x;
  int64_t rows, left, dilation;
  int activation;
  const float* add;
  float* y;
  int output_tiles;
};

// Inputs first.. of the row that this thread copies (null outside x), as [depth][row].
DV_DEVICE void load_inputs(const AffineWeights& layer, const float* x, int first, float* tile) {
  const int row = thread_index() / kPart, part = thread_index() % kPart * kPart;
  DV_UNROLL
  for (int i = part; i < part + kPart; ++i) {
    float value = 0.0f;
    if (x != nullptr && first + i < layer.inputs) value = x[first + i];
    tile[i * kPitch + row] = layer.bfloat ? round_to_bfloat(value) : value;
  }
}

// The weights [input][output] of inputs first.. for the outputs from `output0` on, as
// [depth][output].
DV_DEVICE void load_weights(const AffineWeights& layer, const float* weights, int output0,
                            int first, float* tile) {
  constexpr int kTogether = kThreads / kTile;
  const int output = thread_index() % kTile;
  const bool inside = output0 + output < layer.outputs;
  DV_UNROLL
  for (int depth = thread_index() / kTile; depth < kDepth; depth += kTogether) {
    const bool some = inside && first + depth < layer.inputs;
    const int at = (first + depth) * layer.outputs + output0 + output;
    tile[depth * kPitch + output] = some ? weights[at] : 0.0f;
  }
}

// sums += inputs times weights, one depth after the other, for the 4 rows and 4 outputs of this
// thread. Unrolled twice only: more would take registers that other blocks need.
DV_DEVICE void multiply(const float* inputs, const float* weights, float (&sums)[kPart][kPart]) {
  DV_UNROLL_TWICE
  for (int depth = 0; depth < kDepth; ++depth) {
    const Float4 x = *reinterpret_cast<const Float4*>(inputs + depth * kPitch);
    const Float4 w = *reinterpret_cast<const Float4*>(weights + depth * kPitch);
    DV_UNROLL
    for (int i = 0; i < kPart; ++i) {
      DV_UNROLL
      for (int j = 0; j < kPart; ++j) sums[i][j] = fused(x.x[i], w.x[j], sums[i][j]);
    }
  }
}

// Finishes and stores the sums of a block, which lie as [row][output] in shared memory, so that
// neighbouring threads write neighbouring outputs.
DV_DEVICE void store(const AffineCall& call, const float* sums, int64_t row0, int output0) {
  DV_ROLLED
  for (int i = thread_index(); i < kTile * kTile; i += kThreads) {
    const int64_t row = row0 + i / kTile;
    const int output = output0 + i % kTile;
    if (row >= call.rows || output >= call.layer.outputs) continue;
    float sum = sums[i / kTile * kPitch + i % kTile];
    if (call.layer.bias != nullptr) sum += call.layer.bias[output];
    const int64_t at = row * call.layer.outputs + output;
    const float value = activate(sum, call.activation);
    call.y[at] = call.add != nullptr ? call.add[at] + value : value;
  }
}

DV_KERNEL(kThreads) affine_kernel(AffineCall call) {
  auto* const inputs = reinterpret_cast<float*>(shared_memory());  // [depth][row]
  float* const weights = inputs + kDepth * kPitch;
  const int64_t row0 = int64_t{block_index() / call.output_tiles} * kTile;
  const int output0 = block_index() % call.output_tiles * kTile;
  const int row = thread_index() / (kTile / kPart) * kPart;
  const int output = thread_index() % (kTile / kPart) * kPart;
  float sums[kPart][kPart] = {};
  DV_ROLLED
  for (int tap = 0; tap < call.layer.taps; ++tap) {
    const int64_t copied = row0 + thread_index() / kPart;  // the row that this thread copies
    const int64_t from = copied - call.left + tap * call.dilation;
    const bool inside = copied < call.rows && from >= 0 && from < call.rows;
    const float* const x = inside ? call.x + from * call.layer.inputs : nullptr;
    const float* const of_tap =
        call.layer.weight + int64_t{tap} * call.layer.inputs * call.layer.outputs;
    DV_ROLLED
    for (int first = 0; first < call.layer.inputs; first += kDepth) {
      load_inputs(call.layer, x, first, inputs);
      load_weights(call.layer, of_tap, output0, first, weights);
      block_barrier();
      multiply(inputs + row, weights + output, sums);
      block_barrier();  // before the tiles are written again
    }
  }
  DV_UNROLL
  for (int i = 0; i < kPart; ++i) {
    DV_UNROLL
    for (int j = 0; j < kPart; ++j) inputs[(row + i) * kPitch + output + j] = sums[i][j];
  }
  block_barrier();
  store(call, inputs, row0, output0);
}

struct NormCall {
  const float *x, *weight, *bias;
  int64_t rows;
  int channels;
  float* y;
};

DV_DEVICE float warp_sum(float value) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) value += shuffle_xor(value, mask);
  return value;
}

// A warp a row.
DV_KERNEL(kThreads) norm_kernel(NormCall call) {
  const int64_t row = int64_t{block_index()} * warp_count() + warp_index();
  if (row >= call.rows) return;
  const float* const x = call.x + row * call.channels;
  float sum = 0.0f, squares = 0.0f;
  for (int c = lane_index(); c < call.channels; c += kWarp) sum += x[c];
  const float mean = warp_sum(sum) / static_cast<float>(call.channels);
  for (int c = lane_index(); c < call.channels; c += kWarp) {
    const float centred = x[c] - mean;
    squares = fused(centred, centred, squares);
  }
  const float spread = sqrtf(warp_sum(squares) / static_cast<float>(call.channels) + 1e-5f);
  for (int c = lane_index(); c < call.channels; c += kWarp)
    call.y[row * call.channels + c] = fused((x[c] - mean) / spread, call.weight[c], call.bias[c]);
}

struct ElementaryCall {
  int function;
  const float* x;
  float* y;
  int64_t count;
};

DV_KERNEL(kThreads) elementary_kernel(ElementaryCall call) {
  const int64_t step = int64_t{block_count()} * thread_count();
  for (int64_t i = int64_t{block_index()} * thread_count() + thread_index(); i < call.count;
       i += step) {
    const float x = call.x[i];
    call.y[i] = call.function == 0   ? tanh_of(x)
                : call.function == 1 ? sigmoid_of(x)
                : call.function == 2 ? exp_of(x)
                                     : log_of(x);
  }
}

int blocks_for(int64_t work, int64_t of_a_block) {
  const int64_t blocks = (work + of_a_block - 1) / of_a_block;
  if (blocks > INT32_MAX) throw std::runtime_error("CUDA: a layer has more rows than a launch can");
  return static_cast<int>(blocks);
}

}  // namespace

void affine(const AffineWeights& layer, const float* x, int64_t rows, int64_t left,
            int64_t dilation, Activation activation, const float* add, float* y,
            StreamHandle stream) {
  if (rows == 0 || layer.outputs == 0) return;
  const int output_tiles = blocks_for(layer.outputs, kTile);
  const int blocks = blocks_for(rows, kTile);
  if (blocks > INT32_MAX / output_tiles)
    throw std::runtime_error("CUDA: a layer has more rows than a launch can");
  constexpr int kShared = kTile * kPitch * static_cast<int>(sizeof(float));
  static_assert(2 * kDepth <= kTile, "the sums take the place of the inputs and the weights");
  const AffineCall call{layer, x, rows, left, dilation, activation, add, y, output_tiles};
  launch(affine_kernel, Grid{blocks * output_tiles, 1, kThreads, kShared}, stream, call);
}

void layer_norm(const float* x, const float* weight, const float* bias, int64_t rows, int channels,
                float* y, StreamHandle stream) {
  if (rows == 0 || channels == 0) return;
  const Grid grid{blocks_for(rows, kThreads / kWarp), 1, kThreads, 0};
  launch(norm_kernel, grid, stream, NormCall{x, weight, bias, rows, channels, y});
}

void elementary(int function, const float* x, float* y, int64_t count, StreamHandle stream) {
  if (count == 0) return;
  const int64_t blocks = (count + kThreads - 1) / kThreads;
  const Grid grid{static_cast<int>(blocks < 1024 ? blocks : 1024), 1, kThreads, 0};
  launch(elementary_kernel, grid, stream, ElementaryCall{function, x, y, count});
}

}  // namespace dv::cuda
