// Plain structures that the instruction-set files read: no constructors, no standard library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dv {

constexpr int kBlock = 16;      // outputs are padded to whole blocks
constexpr int kPanel = 128;     // outputs that lie together
constexpr int kMaxLayers = 64;  // also the largest bunch
constexpr int kMaxLevels = 256;
constexpr int kLeadIn = 64;      // zeros before a history, for predictors padded to whole vectors
constexpr int kPastColumns = 4;  // steps whose past halves share one pass over the weights
constexpr int kMaxStreams = 16;  // streams that share one pass over the weights

constexpr int padded(int count) { return (count + kBlock - 1) / kBlock * kBlock; }

// How a matrix is stored. kInt8 has int8 weights with a scale for each output and quantised inputs.
enum Storage : int { kFloat = 0, kHalf = 1, kBfloat = 2, kInt8 = 3 };

// A weight matrix for y = W x, or for y = W x + V x2 (the two taps of a gate). Panels of 128
// outputs (the last may have fewer blocks), each [group of inputs][block of 16
// outputs][output][input of the group]. A group has 1 input in kFloat and kHalf, 2 in kBfloat,
// Table::int8_group in kInt8; the last one is filled up with zeros.
struct Matrix {
  const unsigned char* data;   // W, 64-byte aligned
  const unsigned char* data2;  // V, or null
  const float* scale;          // kInt8: [outputs], what one unit of a sum stands for
  const int32_t* offset;       // kInt8: [outputs], start of a sum
  int outputs;                 // a multiple of kBlock; rows beyond the true ones are zero
  int inputs, inputs2;         // of x and of x2, which may be 0
  int storage;                 // a Storage
  float unit;                  // kInt8: what one unit of a quantised input stands for
  float inverse_unit;          // 1 / unit
  bool rectified;              // kInt8: inputs are 0 to 255 units, otherwise -127 to 127
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
  Matrix
      gate[kMaxLayers];  // 2 residualP outputs, tanh half and sigmoid half; x2 is the current step
  Matrix residual_mix[kMaxLayers];         // residualP outputs; the last layer has none
  const float* residual_bias[kMaxLayers];  // residualP
  Matrix skip_mix[kMaxLayers];             // skipP outputs
  Matrix bunch_head;                       // bunch * headP outputs
  const float* bunch_bias;
  const float* draw[kMaxLayers];  // one a sample of the bunch: [2 + 3 head_history][headP]
  Matrix output;                  // levelsP outputs
  ptrdiff_t step_bytes;           // packed from input.data on
  const float* output_bias;
  const float* amplitudes;  // [levelsP]
};

// Working memory of one stream, 64-byte aligned, zero at the start.
struct WaveNetScratch {
  float* cond;     // [layers * 2 residualP + skipP], one frame, padded
  float* partial;  // [layers][kPastColumns][2 residualP], past halves
  float* gate;     // [2 residualP]
  float* stream;   // [residualP], the residual stream
  float* skip;     // [skipP], the skip sum
  float* inputs;   // trunk inputs
  float* heads;    // [bunch * headP]
  float* logits;   // [kMaxLevels]
  float* weights;  // [kMaxLevels], of the levels in a draw
  float* before;   // [kBlock], their running sums
  float* lpc;      // [lpcP + 1], oldest first after leading zeros; the last is the newest sample's
  // Inputs of matrices in the form that their storage wants, with room for floats.
  float *input_code, *stream_code, *skip_code, *hidden_code;
  float* gated_code;  // [layers][residualP]; alone, a stream uses two layers' in turn
  // Histories, [kLeadIn + past + bunch]: amplitude, times gain, companded; residual, companded.
  float *signal, *signal_gained, *signal_coded, *residual, *residual_coded;
  float* coded_amplitudes;  // [levelsP], the levels companded
  unsigned char*
      queues;  // for each layer a ring of [dilation] inputs, coded, 4 residualP bytes each
  float output;
};

// What one stream reads and writes; the shapes are those of kernels/wavenet.py.
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

// What two threads that work on one stream tell each other (pair_body.hpp). Each number is written
// by one thread and lies on a cache line of its own.
struct WaveNetPair {
  alignas(64) int64_t order;   // main: even to work from `first` on, odd to pause, kPairDone to end
  alignas(64) int64_t paused;  // partner: the last order to pause that it has followed
  alignas(64) int64_t gated;   // main: gates done, of the layers of all steps
  alignas(64) int64_t done;    // partner: steps done
  alignas(64) int64_t first;   // main, while the partner pauses: the step that it begins with
  int64_t paired;              // main: steps that were done together
  int patience;                // turns of a wait after which main thinks the partner asleep
  void (*give_way)();          // lets other threads run
  // Written by the partner alone, as in WaveNetScratch; heads of steps in turn.
  float *cond, *skip, *skip_code, *heads[2];
  float* partial;  // [layers][2 kPastColumns][2 residualP], past halves of two groups of steps
};
constexpr int64_t kPairDone = -1;

}  // namespace dv
