// The functions that every instruction set provides. All arrays are float32 and row-major.
#pragma once

#include "layers.hpp"
#include "model.hpp"

namespace dv {

enum Activation : int { kNone = 0, kRelu = 1, kTanh = 2, kSigmoid = 3 };
enum Elementary : int {
  kElementaryTanh = 0,
  kElementarySigmoid = 1,
  kElementaryExp = 2,
  kElementaryLog = 3
};

struct Table {
  const char* name;
  bool half_weights;        // reads matrices in half precision
  int int8_group;           // inputs in a group of an int8 matrix
  int int8_zero;            // what a quantised input of 0 is stored as
  int int8_rectified_zero;  // and where inputs are rectified

  // y[i] = f(x[i]) for the approximations that the other functions are built on.
  void (*elementary)(int which, const float* x, float* y, int64_t count);

  // y [rows, outputs] = activation(x [rows, inputs] weight [outputs, inputs]^T + bias [outputs] or
  // null).
  void (*dense)(const float* x, int64_t rows, int64_t inputs, const float* weight,
                const float* bias, int64_t outputs, int activation, float* y);

  // Gates of one step of a GRU: from the input part [3H] and the recurrent part [3H], biases
  // included, updates h [H] in place and writes it to y [H] too.
  void (*gru_gates)(const float* input, const float* recurrent, int64_t hidden, float* h, float* y);

  // fo-pooling: cell [H] is updated in place; y [rows, H].
  void (*qrnn_pool)(const float* candidate, const float* forget, const float* output, int64_t rows,
                    int64_t hidden, float* cell, float* y);

  // Runs 1 to kMaxStreams streams side by side; the longest first.
  void (*wavenet)(const WaveNetModel& model, WaveNetScratch* scratch, const WaveNetRun* runs,
                  int count);

  // Runs one stream on two threads: this is the main one's part,
  void (*wavenet_pair)(const WaveNetModel& model, WaveNetScratch* scratch, const WaveNetRun& run,
                       WaveNetPair* pair);
  // and this the other's, which returns when the main one is done.
  void (*wavenet_partner)(const WaveNetModel& model, const WaveNetScratch& scratch,
                          const WaveNetRun& run, WaveNetPair* pair);

  // sums [columns, outputs] = the integer sums of an int8 matrix with x [columns, inputs], which is
  // quantised as `matrix` says.
  void (*int8_sums)(const Matrix& matrix, const float* x, int64_t columns, int32_t* sums);

  // Has instructions for them, so that bfloat16 layers are faster than others.
  bool bfloat_products;

  // Applies a packed layer to rows (layers.hpp).
  void (*affine)(const Layer& layer, const LayerCall& call);

  // out [count] = x [count] in the type that layers of this storage read.
  void (*encode)(const float* x, int64_t count, int storage, void* out);

  // out [rows, out_stride] = the rows of x [rows, channels] with mean 0 and variance 1, times
  // weight plus bias [channels], in the type that layers of this storage read.
  void (*layer_norm)(const float* x, const float* weight, const float* bias, int64_t rows,
                     int64_t channels, int storage, void* out, int64_t out_stride);

  // What the machine can do at most (limits_body.hpp).
  int64_t (*multiply_adds)(int kind, int64_t rounds);
  float (*read_all)(const float* data, int64_t count, int64_t rounds);
};

}  // namespace dv
