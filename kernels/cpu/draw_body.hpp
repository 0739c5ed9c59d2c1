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

// The largest logit.
static inline float largest_logit(const float* logits) {
  constexpr int kChains = 4;  // that are kept apart, for the latency
  Vec top[kChains];
  for (int t = 0; t < kChains; ++t) top[t] = broadcast(-1e30f);
  for (int a = 0; a < kMaxLevels; a += kChains * kLanes)
    for (int t = 0; t < kChains; ++t)  // a NaN is passed over
      top[t] = max(load(logits + a + t * kLanes), top[t]);
  return reduce_max(max(max(top[0], top[1]), max(top[2], top[3])));
}

// Weights of all levels: exp((logit - largest) / temperature), but not below 2^-125. Returns their
// sum.
static inline float exponentiate(const float* logits, float top, float temperature,
                                 float* weights) {
  const float unit = 1.44269504088896341f / temperature;  // to powers of 2
  const Vec scale = broadcast(unit), shift = broadcast(-top * unit), least = broadcast(-125.0f);
  Sums sum[2];  // of blocks with an even and with an odd number
  for (int v = 0; v < kBlockVectors; ++v) sum[0].v[v] = sum[1].v[v] = broadcast(0.0f);
  for (int a = 0; a < kMaxLevels; a += 2 * kBlock) {
    for (int i = 0; i < 2 * kBlockVectors; ++i) {
      const Vec x = fma(load(logits + a + i * kLanes), scale, shift);
      const Vec e = exp2_of(max(x, least));
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
static int last_resort(const float* logits, const float* weights, int end, int levels) {
  for (int a = (end < levels ? end : levels) - 1; a >= 0; --a)
    if (weights[a] > 0.0f) return a;
  int best = 0;
  for (int a = 1; a < levels; ++a) best = logits[a] > logits[best] ? a : best;
  return best;
}

// The level whose interval the target lies in. Always 0 to levels - 1, whatever the logits are.
static inline int level_at(const float* logits, const float* weights, const float* before,
                           float uniform, int levels) {
  const float target = uniform * before[kBlock - 1];
  const int block = first_above(before, target);
  if (block == kBlock) return last_resort(logits, weights, kMaxLevels, levels);
  const int first = block * kBlock;
  alignas(64) float inside[kBlock];
  running_sums_of(weights + first, inside);
  const int a = first + first_above(inside, block == 0 ? target : target - before[block - 1]);
  return a < first + kBlock && a < levels ? a
                                          : last_resort(logits, weights, first + kBlock, levels);
}
