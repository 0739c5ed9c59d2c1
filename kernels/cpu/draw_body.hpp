// Drawing a level from logits. Included inside the instruction set's namespace, after math_body.hpp
// and matrix_body.hpp.

// A level this far below the likeliest counts as impossible: all of them together have less chance
// than the step between two uniform numbers.
constexpr float kNegligible = 25.0f;  // nats

// The same order of summation on every instruction set: lanes 8 apart first.
static inline float reduce_block_add(const Vec* v) {
  if constexpr (kBlockVectors == 1) return reduce_add(v[0]);
  if constexpr (kBlockVectors == 2) return reduce_add(add(v[0], v[1]));
  if constexpr (kBlockVectors == 4) return reduce_add(add(add(v[0], v[2]), add(v[1], v[3])));
}

// Divides the logits by the temperature; returns the largest.
static inline float scale_logits(float* logits, int levelsP, float temperature) {
  constexpr int kChains = 4;  // largest values that are kept apart, for the latency
  const Vec inverse = broadcast(1.0f / temperature);
  Vec top[kChains];
  for (int t = 0; t < kChains; ++t) top[t] = broadcast(-1e30f);
  int a = 0;
  const auto scale = [&](Vec* most) {
    const Vec scaled = mul(load(logits + a), inverse);
    store(logits + a, scaled);
    *most = max(scaled, *most);
    a += kLanes;
  };
  while (a + kChains * kLanes <= levelsP)
    for (int t = 0; t < kChains; ++t) scale(top + t);
  while (a < levelsP) scale(top);
  return reduce_max(max(max(top[0], top[1]), max(top[2], top[3])));
}

// Bits of the blocks of 16 levels in which some level is not negligible.
static inline unsigned likely_blocks(const float* scaled, int levelsP, float top) {
  const Vec limit = broadcast(top - kNegligible);
  unsigned blocks = 0;
  for (int b = 0; b < levelsP / kBlock; ++b) {
    bool any = false;
    for (int v = 0; v < kBlockVectors; ++v)
      any = any_at_least(load(scaled + b * kBlock + v * kLanes), limit) || any;
    blocks |= static_cast<unsigned>(any) << b;
  }
  return blocks;
}

// What the floor leaves of the weights of a block of levels.
static inline Sums above_floor(const float* weights, Vec floor) {
  Sums left;
  for (int v = 0; v < kBlockVectors; ++v)
    left.v[v] = max(sub(load(weights + v * kLanes), floor), broadcast(0.0f));
  return left;
}

// Where no level is drawn: the last one that the floor leaves or, where it leaves none, the
// likeliest. 0 if every logit is a NaN.
static int last_resort(const float* weights, unsigned likely, int levels, float floor) {
  int best = -1, last = -1;
  for (unsigned left = likely; left != 0; left &= left - 1) {
    const int first = __builtin_ctz(left) * kBlock;
    for (int a = first; a < first + kBlock && a < levels; ++a) {
      if (best < 0 || weights[a] > weights[best]) best = a;
      if (weights[a] > floor) last = a;
    }
  }
  return last >= 0 ? last : best >= 0 ? best : 0;
}

// Softmax, floor, inversion of the cumulative distribution, as kernels/reference/wavenet.py says.
// Always returns 0 to levels - 1, whatever the logits are; they are overwritten.
static int draw(float* logits, int levels, int levelsP, float temperature, float floor,
                float uniform) {
  const float top = scale_logits(logits, levelsP, temperature);
  const unsigned likely = likely_blocks(logits, levelsP, top);
  Sums sums;
  for (int v = 0; v < kBlockVectors; ++v) sums.v[v] = broadcast(0.0f);
  for (unsigned left = likely; left != 0; left &= left - 1) {
    float* const block = logits + __builtin_ctz(left) * kBlock;
    for (int v = 0; v < kBlockVectors; ++v) {
      const Vec e = exp_of(sub(load(block + v * kLanes), broadcast(top)));
      store(block + v * kLanes, e);
      sums.v[v] = add(sums.v[v], e);
    }
  }
  const float threshold = floor * reduce_block_add(sums.v);
  float weight[kMaxLevels / kBlock];  // of each likely block
  float total = 0.0f;
  for (unsigned left = likely; left != 0; left &= left - 1) {
    const int b = __builtin_ctz(left);
    weight[b] = reduce_block_add(above_floor(logits + b * kBlock, broadcast(threshold)).v);
    total += weight[b];
  }
  const float target = uniform * total;
  float below = 0.0f;
  for (unsigned left = likely; left != 0; left &= left - 1) {
    const int b = __builtin_ctz(left);
    if (below + weight[b] > target) {
      alignas(64) float chances[kBlock];
      const Sums block = above_floor(logits + b * kBlock, broadcast(threshold));
      for (int v = 0; v < kBlockVectors; ++v) store(chances + v * kLanes, block.v[v]);
      const int inside = first_above(chances, below, target);
      if (inside < kBlock && b * kBlock + inside < levels) return b * kBlock + inside;
    }
    below += weight[b];
  }
  return last_resort(logits, likely, levels, threshold);
}
