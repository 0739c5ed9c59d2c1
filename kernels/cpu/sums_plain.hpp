// Sums over lanes for instruction sets whose vectors are shorter than a block of 16 values; the
// same order as with longer ones. Included inside the instruction set's namespace.

static inline void running_sums_of(const float* values, float* sums) {
  for (int i = 0; i < kBlock; ++i) sums[i] = values[i];
  for (int lanes = 1; lanes < kBlock; lanes *= 2)
    for (int i = kBlock - 1; i >= lanes; --i) sums[i] += sums[i - lanes];
}

// First of 16 values above the target, 16 if none is.
static inline int first_above(const float* values, float target) {
  int first = 0;
  while (first < kBlock && !(values[first] > target)) ++first;
  return first;
}

// The sum of each of 16 blocks of 16 values, lanes 8 apart first, then 4, 2 and 1.
static inline void sums_of_blocks(const Vec* block, float* sums) {
  constexpr int kVectors = kBlock / kLanes;
  for (int b = 0; b < kBlock; ++b, block += kVectors) {
    Vec sum = block[0];
    if constexpr (kVectors == 2) sum = add(block[0], block[1]);
    if constexpr (kVectors == 4) sum = add(add(block[0], block[2]), add(block[1], block[3]));
    sums[b] = reduce_add(sum);
  }
}
