// For instruction sets that cannot shift lanes across a whole block. Included inside the
// instruction set's namespace.

// First of 16 levels whose running sum is above the target, 16 if none is. Sums of 1, 2, 4 and 8
// neighbours are added in turn, the same way on every instruction set.
static inline int first_above(const float* chances, float below, float target) {
  float sum[kBlock];
  for (int i = 0; i < kBlock; ++i) sum[i] = chances[i];
  for (int lanes = 1; lanes < kBlock; lanes *= 2)
    for (int i = kBlock - 1; i >= lanes; --i) sum[i] += sum[i - lanes];
  int first = 0;
  while (first < kBlock && !(sum[first] + below > target)) ++first;
  return first;
}
