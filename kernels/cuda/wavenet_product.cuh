// Products of a tile matrix with the streams' operands, and what lies around them.
//
// A warp computes 16 outputs at a time for all streams. Lane 4 r + s has outputs r and r + 8, and
// of every 16 inputs those numbered 4 s .. 4 s + 3. The four lanes of an output add their sums in
// an order that depends on nothing, so a stream's numbers are those that it would get alone.
#pragma once

#include "portable.cuh"
#include "wavenet_model.hpp"

namespace dv::cuda {

DV_DEVICE Float4 load4(const float* at) { return *reinterpret_cast<const Float4*>(at); }

template <class T>  // Half, Bfloat
DV_DEVICE Float4 load4(const T* at) {
  struct alignas(8) Four {
    T x[4];
  };
  const Four four = *reinterpret_cast<const Four*>(at);
  return {{to_float(four.x[0]), to_float(four.x[1]), to_float(four.x[2]), to_float(four.x[3])}};
}

// Operands lie so that the four lanes of an output read neighbouring words: [16 inputs][position in
// a lane's four][4 streams at most][lane][stream].
template <int kColumns>
struct Operand {
  static constexpr int kWide = kColumns < 4 ? kColumns : 4;

  DV_DEVICE static int at(int input, int column) {
    const int chunk = input / kTile, lane = input / 4 % 4, position = input % 4;
    if (kColumns == 1) return input;
    return ((chunk * 4 + position) * (kColumns / kWide) + column / kWide) * (4 * kWide) +
           lane * kWide + column % kWide;
  }

  // Inputs 4 s .. 4 s + 3 of a chunk for all streams.
  DV_DEVICE static void load(const float* operand, int chunk, int lane, float (&x)[4][kColumns]) {
    const float* const base = operand + chunk * kTile * kColumns;
    if constexpr (kColumns == 1) {
      const Float4 four = load4(base + lane * 4);
      DV_UNROLL
      for (int j = 0; j < 4; ++j) x[j][0] = four.x[j];
    } else {
      DV_UNROLL
      for (int j = 0; j < 4; ++j) {
        DV_UNROLL
        for (int w = 0; w < kColumns / kWide; ++w) {
          const Float4 four =
              load4(base + (j * (kColumns / kWide) + w) * (4 * kWide) + lane * kWide);
          DV_UNROLL
          for (int u = 0; u < kWide; ++u) x[j][w * kWide + u] = four.x[u];
        }
      }
    }
  }
};

// Streams whose sums a lane ends with.
template <int kColumns>
struct Owned {
  static constexpr int kCount = kColumns < 4 ? 1 : kColumns / 4;

  DV_DEVICE static int first(int lane) {
    if (kColumns == 1) return 0;
    return (lane & 2) / 2 * (kColumns / 2) + (lane & 1) * (kColumns / 4);
  }
  DV_DEVICE static bool owns(int lane) { return kColumns > 1 || (lane & 3) == 0; }
};

// Adds the sums of the four lanes of an output: (0 + 2) + (1 + 3). Each lane gets those of the
// streams that it owns.
template <int kColumns>
DV_DEVICE void add_lanes(float (&sum)[kColumns], float (&own)[Owned<kColumns>::kCount]) {
  if constexpr (kColumns == 1) {
    const float half = sum[0] + shuffle_xor(sum[0], 2);
    own[0] = half + shuffle_xor(half, 1);
  } else {
    const bool upper = (lane_index() & 2) != 0, odd = (lane_index() & 1) != 0;
    float half[kColumns / 2];
    DV_UNROLL
    for (int u = 0; u < kColumns / 2; ++u) {
      const float keep = upper ? sum[u + kColumns / 2] : sum[u];
      const float give = upper ? sum[u] : sum[u + kColumns / 2];
      half[u] = keep + shuffle_xor(give, 2);
    }
    DV_UNROLL
    for (int u = 0; u < kColumns / 4; ++u) {
      const float keep = odd ? half[u + kColumns / 4] : half[u];
      const float give = odd ? half[u] : half[u + kColumns / 4];
      own[u] = keep + shuffle_xor(give, 1);
    }
  }
}

// The inputs of a product: one vector after another, whole chunks each.
struct Vectors {
  const float* first;
  int first_chunks;
  const float* second;
  int second_chunks;
};

// y = W x for `tiles` tiles, shared out among the warps. `start(tile, r, column)` gives what the
// two sums of a lane begin with, asked before the inputs so that its loads are under way meanwhile;
// `finish(tile, r, column, sum of output r, sum of output r + 8)` takes them.
template <class T, int kColumns, class Start, class Finish>
DV_DEVICE void product(const T* weights, int tiles, const Vectors& inputs, Start start,
                       Finish finish) {
  constexpr int kOwned = Owned<kColumns>::kCount;
  const int lane = lane_index(), row = lane / 4, part = lane % 4;
  const int chunks = inputs.first_chunks + inputs.second_chunks;
  const int first = Owned<kColumns>::first(lane);
  for (int tile = warp_index(); tile < tiles; tile += warp_count()) {
    Float2 begin[kOwned];
    DV_UNROLL
    for (int u = 0; u < kOwned; ++u) begin[u] = start(tile, row, first + u);
    float low[kColumns], high[kColumns];
    DV_UNROLL
    for (int u = 0; u < kColumns; ++u) low[u] = high[u] = 0.0f;
    const T* at = weights + static_cast<int64_t>(tile) * chunks * (kTile * kTile) + lane * 4;
    for (int vector = 0; vector < 2; ++vector) {
      const float* const x = vector == 0 ? inputs.first : inputs.second;
      const int count = vector == 0 ? inputs.first_chunks : inputs.second_chunks;
      DV_UNROLL_TWICE
      for (int chunk = 0; chunk < count; ++chunk, at += kTile * kTile) {
        const Float4 a = load4(at), b = load4(at + kWarp * 4);
        float value[4][kColumns];
        Operand<kColumns>::load(x, chunk, part, value);
        DV_UNROLL
        for (int j = 0; j < 4; ++j) {
          DV_UNROLL
          for (int u = 0; u < kColumns; ++u) {
            low[u] = fused(a.x[j], value[j][u], low[u]);
            high[u] = fused(b.x[j], value[j][u], high[u]);
          }
        }
      }
    }
    float own_low[kOwned], own_high[kOwned];
    add_lanes(low, own_low);
    add_lanes(high, own_high);
    if (Owned<kColumns>::owns(lane)) {
      DV_UNROLL
      for (int u = 0; u < kOwned; ++u) {
        finish(tile, row, first + u, begin[u].x[0] + own_low[u], begin[u].x[1] + own_high[u]);
      }
    }
  }
}

}  // namespace dv::cuda
