// Plain structures that the instruction-set files read: no constructors, no standard library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dv {

constexpr int kBlock = 16;      // outputs are padded to whole blocks
constexpr int kPanel = 64;      // outputs that are computed together
constexpr int kMaxLayers = 64;  // also the largest bunch
constexpr int kMaxLevels = 256;
constexpr int kLeadIn = 64;      // zeros before a history, for predictors padded to whole vectors
constexpr int kPastColumns = 4;  // steps whose past halves share one pass over the weights

constexpr int padded(int count) { return (count + kBlock - 1) / kBlock * kBlock; }

// A weight matrix for y = W x: panels of 64 outputs (the last may be 16, 32 or 48), each
// [inputs][outputs of the panel], float32 or IEEE half precision.
struct Matrix {
  const void* data;  // 64-byte aligned
  int outputs;       // a multiple of kBlock; rows beyond the true ones are zero
  int inputs;
  bool half;
};

// A packed WaveNet; the sizes are named as in kernels/weights.py. A suffix P marks a size padded to
// whole blocks.
struct WaveNetModel {
  int hop, bunch, layers, residual, skip, head, levels, history, head_history, harmonics, lpc_order;
  int past;  // samples of history that are kept: max(history, head_history, lpc_order)
  int residualP, skipP, headP, levelsP, lpcP;
  int dilations[kMaxLayers];
  int64_t dilation_sum;
  float pre_emphasis, signal_gain, code_scale;
  float mu;              // levels - 1
  float compress_scale;  // 1 / log(levels)
  Matrix input;          // residualP outputs
  const float* input_bias;
  Matrix past_gate[kMaxLayers];     // 2 residualP outputs: tanh half, sigmoid half
  Matrix current_gate[kMaxLayers];  // the same
  Matrix mix[kMaxLayers];           // residualP + skipP outputs; the last layer has skipP only
  const float* residual_bias[kMaxLayers];  // residualP; null in the last layer
  Matrix bunch_head;                       // bunch * headP outputs
  const float* bunch_bias;
  Matrix draw[kMaxLayers];  // one a sample of the bunch, headP outputs
  Matrix output;            // levelsP outputs
  const float* output_bias;
  const float* amplitudes;  // [levels]
};

// Working memory of one run, 64-byte aligned, zero at the start.
struct WaveNetScratch {
  float* cond;     // [layers * 2 residualP + skipP], one frame, padded
  float* gates;    // [layers][kPastColumns][2 residualP], past halves plus conditioning
  float* gate;     // [2 residualP]
  float* gated;    // [residualP]
  float* mix;      // [residualP + skipP]: the residual stream, then the skip sum
  float* inputs;   // trunk inputs or head inputs
  float* heads;    // [bunch * headP]
  float* hidden;   // [headP]
  float* logits;   // [levelsP]
  float* chances;  // [levelsP]
  float* lpc;      // [lpcP], oldest first after leading zeros
  // Histories, [kLeadIn + past + bunch]: amplitude, times gain, companded; residual, companded.
  float *signal, *signal_gained, *signal_coded, *residual, *residual_coded;
  float* queues;  // for each layer a ring of [dilation][residualP]
};

// What one call reads and writes; the shapes are those of kernels/wavenet.py.
struct WaveNetRun {
  int64_t frames;
  const float *cond, *lpc, *pulse;
  const float *uniforms, *temperature;  // null when the codes are given
  float floor;
  const uint8_t* given;                        // [T] codes, or null
  float *signal, *residual, *output, *queues;  // state, updated in place
  float* samples;                              // [T]
  uint8_t* codes;                              // [T], or null when they are given
  float* logits;                               // [T, levels], or null
};

}  // namespace dv
