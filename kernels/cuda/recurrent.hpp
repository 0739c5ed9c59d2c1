// Recurrent layers on the device: one launch runs many sequences from their first row to their
// last, with the weights in registers and shared memory all the while (persistent kernels; Diamos
// et al., 2016).
#pragma once

#include <cstdint>
#include <vector>

#include "runtime.hpp"

namespace dv::cuda {

// How the recurrent weights of a GRU of some number of units are spread over a cluster of blocks.
//
// A block has `units` of the layer's units, a unit has `lanes` neighbouring threads, and a thread
// has the weights of the quads of 4 states lane, lane + lanes, ... for the three gates of its unit.
// The first `resident` quads stay in registers, the next `shared` ones in shared memory, and what
// is left is read from the second-level cache at every step.
struct GruPlan {
  int hidden;
  int cluster;   // blocks: 1, 2, 4 or 8
  int units;     // of a block
  int lanes;     // power of two, at most 32
  int threads;   // of a block
  int passes;    // more than one where a block has more units than its threads can hold at once
  int quads;     // of a thread
  int resident;  // template parameter: 2, 4 or 6
  int shared;
  int sequences;  // that one cluster runs side by side, 1 or 4: template parameter
  int padded;     // states of a sequence in shared memory: whole quads for every lane
  int shared_bytes;
};

// The plan for up to so many sequences at a time; everything but `shared` and `sequences`, and so
// the arrangement of the weights and the order of every sum, depends on the layer and the device
// alone. Throws std::invalid_argument for a layer whose states do not fit.
GruPlan plan_gru(int hidden, int64_t sequences, const DeviceInfo& device);

// Arranges w_hh [3 hidden, hidden] as [block][pass][quad][gate][thread] of 4 floats.
std::vector<float> arrange_gru(const GruPlan& plan, const float* w_hh);

// One sequence; pointers to memory of the device.
struct GruSequence {
  const float* weights;  // arranged
  const float* bias;     // [3 hidden], of the recurrent part
  const float* inputs;   // [rows, 3 hidden]: W_ih x + b_ih
  float* state;          // [hidden], before the first row, then after the last
  float* y;              // [rows, hidden]
  int64_t rows;
  int reverse;  // 1: from the last row to the first
};

// Runs them all at once. Those with the same weights share clusters, in their order.
void run_gru(const GruPlan& plan, const std::vector<GruSequence>& sequences, StreamHandle stream);

// One sequence of a quasi-recurrent layer's gates; the cell is read and written.
struct QrnnSequence {
  const float* candidate;  // these and y: [rows, hidden]
  const float* forget;
  const float* output;
  float* cell;  // [hidden]
  float* y;
  int64_t rows;
};

void run_qrnn(int hidden, const std::vector<QrnnSequence>& sequences, StreamHandle stream);

}  // namespace dv::cuda
