// The draw of a sample by one warp, as kernels/reference/wavenet.py defines it; and its randomness.
#pragma once

#include "math.cuh"
#include "wavenet_model.hpp"

namespace dv::cuda {

constexpr int kLaneLevels = 8;  // neighbouring levels of a lane
constexpr float kSignalLimit = 2.0f;

// Number `index` of the generator of deepvoice.rendering.uniforms: Philox4x64 with ten rounds,
// keyed by seed and sentence; a block of the counter gives eight numbers, the lower half of a word
// first.
DV_DEVICE float random_uniform(uint64_t seed, uint64_t sentence, uint64_t index) {
  uint64_t c[4] = {index / 8 + 1, 0, 0, 0};  // numpy counts before it draws
  for (int round = 0; round < 10; ++round) {
    const uint64_t high0 = multiply_high(0xD2E7470EE14C6C93u, c[0]);
    const uint64_t low0 = 0xD2E7470EE14C6C93u * c[0];
    const uint64_t high1 = multiply_high(0xCA5A826395121157u, c[2]);
    const uint64_t low1 = 0xCA5A826395121157u * c[2];
    c[0] = high1 ^ c[1] ^ seed;
    c[1] = low1;
    c[2] = high0 ^ c[3] ^ sentence;
    c[3] = low0;
    seed += 0x9E3779B97F4A7C15u;
    sentence += 0xBB67AE8584CAA73Bu;
  }
  const int word = static_cast<int>(index % 8) / 2;
  const uint64_t bits = word == 0 ? c[0] : word == 1 ? c[1] : word == 2 ? c[2] : c[3];
  const uint32_t half = static_cast<uint32_t>(index % 2 == 0 ? bits : bits >> 32);
  return static_cast<float>(half >> 8) * 0x1p-24f;
}

template <class Combine>
DV_DEVICE float over_lanes(float value, Combine combine) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) value = combine(value, shuffle_xor(value, mask));
  return value;
}

DV_DEVICE float most(float a, float b) { return fmaxf(a, b); }
DV_DEVICE float total(float a, float b) { return a + b; }

// The level whose interval `uniform` lies in; all lanes get it. Always 0 to levels - 1, whatever
// the logits are. `scaled` has the lane's eight logits over the temperature, -1e30 beyond the
// levels.
DV_DEVICE int draw_level(const float (&scaled)[kLaneLevels], int levels, float uniform,
                         float floor) {
  const int base = lane_index() * kLaneLevels;
  float top = -1e30f;
  DV_UNROLL
  for (int j = 0; j < kLaneLevels; ++j) top = fmaxf(top, scaled[j]);
  top = over_lanes(top, most);
  float weight[kLaneLevels], sum = 0.0f;
  DV_UNROLL
  for (int j = 0; j < kLaneLevels; ++j) {
    weight[j] = base + j < levels ? exp_of(scaled[j] - top) : 0.0f;
    sum += weight[j];
  }
  const float taken = floor * over_lanes(sum, total);
  float inside[kLaneLevels], mine = 0.0f;  // running sums of the lane
  DV_UNROLL
  for (int j = 0; j < kLaneLevels; ++j) {
    weight[j] = fmaxf(weight[j] - taken, 0.0f);
    mine += weight[j];
    inside[j] = mine;
  }
  float up_to = mine;  // of the lanes up to this one
  for (int by = 1; by < kWarp; by *= 2) {
    const float before = shuffle_up(up_to, by);
    if (lane_index() >= by) up_to += before;
  }
  const float left = shuffle_up(up_to, 1);
  const float before = lane_index() == 0 ? 0.0f : left;
  const float target = uniform * shuffle(before + mine, kWarp - 1);
  int above = -1, positive = -1, likeliest = -1;
  DV_UNROLL
  for (int j = kLaneLevels - 1; j >= 0; --j) {
    if (weight[j] > 0.0f && before + inside[j] > target) above = base + j;
    if (weight[j] > 0.0f && positive < 0) positive = base + j;
    if (scaled[j] == top && base + j < levels) likeliest = base + j;
  }
  // The first level above the target; where rounding leaves none, the last one that the floor
  // leaves; where it leaves none, the likeliest.
  const unsigned has_above = ballot(above >= 0), has_positive = ballot(positive >= 0);
  const unsigned has_likeliest = ballot(likeliest >= 0);
  const int from = has_above != 0      ? lowest_bit(has_above)
                   : has_positive != 0 ? highest_bit(has_positive)
                                       : lowest_bit(has_likeliest);
  const int chosen = has_above != 0 ? above : has_positive != 0 ? positive : likeliest;
  const int level = shuffle(chosen, from < 0 ? 0 : from);
  return level < 0 ? 0 : level;
}

}  // namespace dv::cuda
