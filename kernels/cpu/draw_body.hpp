// Drawing levels from logits: softmax, floor, inversion of the cumulative distribution, as
// kernels/reference/wavenet.py says. Included inside the instruction set's namespace, after
// math_body.hpp and matrix_body.hpp.
//
// A draw is a chain of dependent steps, so each step is done for all streams before the next one,
// without branches, and for 256 levels: those that a voice lacks have no chance.

static_assert(kMaxLevels == kBlock * kBlock, "a block of blocks of levels");

// The same order of summation on every instruction set: lanes 8 apart first.
static inline float reduce_block_add(const Vec* v) {
  if constexpr (kBlockVectors == 1) return reduce_add(v[0]);
  if constexpr (kBlockVectors == 2) return reduce_add(add(v[0], v[1]));
  if constexpr (kBlockVectors == 4) return reduce_add(add(add(v[0], v[2]), add(v[1], v[3])));
}

// Divides the logits by the temperature in place; returns the largest.
static inline float scale_logits(float* logits, float temperature) {
  constexpr int kChains = 4;  // that are kept apart, for the latency
  const Vec inverse = broadcast(1.0f / temperature);
  Vec top[kChains];
  for (int t = 0; t < kChains; ++t) top[t] = broadcast(-1e30f);
  for (int a = 0; a < kMaxLevels; a += kChains * kLanes) {
    for (int t = 0; t < kChains; ++t) {
      const Vec scaled = mul(load(logits + a + t * kLanes), inverse);
      store(logits + a + t * kLanes, scaled);
      top[t] = max(scaled, top[t]);  // a NaN is passed over
    }
  }
  return reduce_max(max(max(top[0], top[1]), max(top[2], top[3])));
}

// Weights of all levels: exp(scaled logit - the largest one). Returns their sum.
static inline float exponentiate(const float* scaled, float top, float* weights) {
  const Vec most = broadcast(top);
  Sums sum[2];  // of blocks with an even and with an odd number
  for (int v = 0; v < kBlockVectors; ++v) sum[0].v[v] = sum[1].v[v] = broadcast(0.0f);
  for (int a = 0; a < kMaxLevels; a += 2 * kBlock) {
    for (int i = 0; i < 2 * kBlockVectors; ++i) {
      const Vec e = exp_of(sub(load(scaled + a + i * kLanes), most));
      store(weights + a + i * kLanes, e);
      Vec* const s = sum[i / kBlockVectors].v + i % kBlockVectors;
      *s = add(*s, e);
    }
  }
  for (int v = 0; v < kBlockVectors; ++v) sum[0].v[v] = add(sum[0].v[v], sum[1].v[v]);
  return reduce_block_add(sum[0].v);
}

// Takes the floor off the weights; writes the running sums of blocks of 16 levels.
static inline void take_floor(float* weights, float floor, float* before) {
  Vec left[kMaxLevels / kLanes];
  for (int i = 0; i < kMaxLevels / kLanes; ++i) {
    left[i] = max(sub(load(weights + i * kLanes), broadcast(floor)), broadcast(0.0f));
    store(weights + i * kLanes, left[i]);
  }
  alignas(64) float blocks[kBlock];
  sums_of_blocks(left, blocks);
  running_sums_of(blocks, before);
}

// The last level below `end` that the floor leaves or, where it leaves none, the likeliest of all.
static int last_resort(const float* scaled, const float* weights, int end, int levels) {
  for (int a = (end < levels ? end : levels) - 1; a >= 0; --a)
    if (weights[a] > 0.0f) return a;
  int best = 0;
  for (int a = 1; a < levels; ++a) best = scaled[a] > scaled[best] ? a : best;
  return best;
}

// The level whose interval the target lies in. Always 0 to levels - 1, whatever the logits are.
static inline int level_at(const float* scaled, const float* weights, const float* before,
                           float uniform, int levels) {
  const float target = uniform * before[kBlock - 1];
  const int block = first_above(before, target);
  if (block == kBlock) return last_resort(scaled, weights, kMaxLevels, levels);
  const int first = block * kBlock;
  alignas(64) float inside[kBlock];
  running_sums_of(weights + first, inside);
  const int a = first + first_above(inside, block == 0 ? target : target - before[block - 1]);
  return a < first + kBlock && a < levels ? a
                                          : last_resort(scaled, weights, first + kBlock, levels);
}
