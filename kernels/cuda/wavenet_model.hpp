// Plain structures that the WaveNet's kernel and the host share. Sizes are named as in
// kernels/weights.py; a suffix P marks one padded to whole tiles of 16.
#pragma once

#include <cstdint>

namespace dv::cuda {

constexpr int kTile = 16;  // rows of a matrix that a warp works on, and inputs it takes at a time
constexpr int kMostLayers = 64;  // also the largest bunch
constexpr int kMostColumns = 8;  // streams that share a pass over the weights
constexpr int kMostStages = 16;  // blocks of a cluster

struct WaveNetDimensions {
  int hop, bunch, layers, residual, skip, head, levels, history, head_history, harmonics, lpc_order;
  int past;  // samples of history that are kept: max(history, head_history, lpc_order)
  int ring;  // past + bunch
  int residualP, skipP, headP, levelsP;
  int inputP, drawP;  // inputs of the first layer and of a draw
  int dilations[kMostLayers];
  int queue_rows[kMostLayers];  // of the layers before it
  int steps_a_frame;
  int64_t conditioning;
  float pre_emphasis, signal_gain, code_scale;
  float mu;    // levels - 1
  float unit;  // 1 / log(levels)
};

// Where a matrix lies: bytes from the start of its stage's weights. Tiles of 16 outputs, each
// [16 inputs][half of the outputs][lane][4]: lane 4 r + s has inputs 4 s .. 4 s + 3 of output r.
struct Place {
  int64_t offset;
  int32_t resident;  // in shared memory; otherwise it is read from the second-level cache
};

// What one block of a cluster does in a step: the input layer, some layers, or some samples.
struct Stage {
  int first_layer, last_layer;    // last is one beyond
  int first_sample, last_sample;  // of the bunch
  int has_input, has_history;
  unsigned history_ranks;  // blocks that keep histories, a bit each
  int64_t weights;         // of this stage, bytes from the start of all
  int resident_bytes;
  int resident_vectors;
  Place input, bunch, output;
  Place gate[kMostLayers],
      mix[kMostLayers];     // by layer; mix is the residual's rows, then the skip's
  Place draw[kMostLayers];  // by sample
  // Vectors of floats, bytes from the start of the stage's weights.
  int input_bias, residual_bias[kMostLayers], bunch_bias, output_bias, amplitudes;
};

// Offsets in the shared memory of every block, bytes. The first ones are written by other blocks,
// so they are the same in all.
struct Layout {
  int inbox, inbox_floats;      // two of them
  int history, history_floats;  // [groups][columns][4][ring]
  int output;                   // [groups][columns]
  int slots;                    // [groups][columns]
  int stage;
  int input, past, current, gated, rectified;  // operands
  int heads, draw, hidden, logits, uniforms;
  int past_layers;   // whose past inputs are fetched together
  int head_samples;  // whose heads are computed together
  int weights;
  int bytes;
};

// What one stream reads and writes, in the device's memory; shapes as in kernels/wavenet.py.
struct Piece {
  const float *cond, *lpc, *pulse, *temperature;
  const float* uniforms;              // or null: then they are drawn here
  const uint8_t* given;               // [T] codes, or null
  float *signal, *residual, *output;  // state, updated in place
  float* queues;                      // rings
  float* samples;
  uint8_t* codes;                         // or null
  float* logits;                          // or null
  uint64_t seed, sentence, first_sample;  // of the random numbers
  int64_t frames;
  unsigned queue_step;  // steps since the rings began with their oldest entry
  float floor;
};

// A stream in its place: columns of a group. Every block keeps the same ones, in step with the
// others.
struct Slot {
  Piece piece;
  const float *cond, *lpc;  // of the frame
  int64_t step, steps, frame;
  unsigned turn;   // of the rings: steps since they began with their oldest entry
  int in_frame;    // steps of the frame so far
  int next, last;  // pieces that wait
  int active;
  int position;  // of the step's first sample in the ring
  float temperature;
  float prediction;
};

struct WaveNetArguments {
  WaveNetDimensions sizes;
  Layout layout;
  const Stage* stages;  // one a block of a cluster
  const unsigned char* weights;
  const Piece* pieces;       // in the order in which the slots take them
  const int* slot_pieces;    // [slots + 1]: slot i takes pieces [i] to [i + 1]
  const int* cluster_steps;  // steps of the group that has most, a number a cluster
  int groups;                // that follow each other through a cluster
};

}  // namespace dv::cuda
