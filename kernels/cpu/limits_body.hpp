// What the machine can do at most, for the benchmark: products from registers, reading from a
// cache. Included inside the instruction set's namespace, after layers_body.hpp.

constexpr int kChains = 12;  // independent sums, enough to hide the latency of a product

// `rounds` rounds of products of layer L (layers_body.hpp), one group of inputs for kChains
// vectors.
template <class L>
static int64_t layer_products(const unsigned char* data, int64_t rounds) {
  const auto* const weights = reinterpret_cast<const typename L::Stored*>(data);
  const typename L::Input input = L::input(reinterpret_cast<const typename L::Given*>(data));
  Vec sum[kChains];
  for (int c = 0; c < kChains; ++c) sum[c] = broadcast(0.0f);
  for (int64_t r = 0; r < rounds; ++r) {
    const typename L::Weight weight = L::weight(weights + (r & 1));  // or it would be computed once
#pragma GCC unroll 12
    for (int c = 0; c < kChains; ++c) sum[c] = L::step(weight, input, sum[c]);
  }
#pragma GCC unroll 12
  for (int c = 1; c < kChains; ++c) sum[0] = add(sum[0], sum[c]);
  const float total = reduce_add(sum[0]);
  asm volatile("" ::"r"(&total) : "memory");
  return rounds * kChains * kLanes * L::kGroup;
}

static int64_t integer_products(const unsigned char* data, int64_t rounds) {
  constexpr int kSums = kLanes == 16 ? kChains : 4;  // of 16 outputs each
  alignas(64) int32_t sums[kBlock] = {0};
  Int8Inputs input[kSums];  // one for each, or a product would be computed once for all
  Counts sum[kSums];
  for (int c = 0; c < kSums; ++c) {
    input[c] = int8_inputs(reinterpret_cast<const Quantised*>(data) + c);
    sum[c] = load_counts(sums);
  }
  for (int64_t r = 0; r < rounds; ++r) {
    const Int8Weights weight = int8_weights(data + (r & 1));
#pragma GCC unroll 12
    for (int c = 0; c < kSums; ++c) sum[c] = count(sum[c], weight, input[c]);
  }
#pragma GCC unroll 12
  for (int c = 0; c < kSums; ++c) {
    store_counts(sums, sum[c]);
    asm volatile("" ::"r"(sums) : "memory");
  }
  return rounds * kSums * kBlock * kInt8Group;
}

// Does `rounds` rounds of multiply-adds of one kind (float32, bfloat16, int8) and returns how many
// they were; 0 where the instruction set has none of its own.
static int64_t multiply_adds(int kind, int64_t rounds) {
  alignas(64) unsigned char zeros[256] = {0};
  const unsigned char* data = zeros;
  asm("" : "+r"(data) : : "memory");  // what they hold is not to be known
  if (kind == 0) return layer_products<FloatLayer>(data, rounds);
  if (kind == 2) return integer_products(data, rounds);
  return kBfloatProducts ? layer_products<BfloatLayer>(data, rounds) : 0;
}

// Reads `count` floats, a multiple of 128, `rounds` times.
static float read_all(const float* data, int64_t count, int64_t rounds) {
  constexpr int kSums = 8;
  Vec sum[kSums];
  for (int c = 0; c < kSums; ++c) sum[c] = broadcast(0.0f);
  for (int64_t r = 0; r < rounds; ++r) {
    for (int64_t i = 0; i < count; i += kSums * kLanes) {
#pragma GCC unroll 8
      for (int c = 0; c < kSums; ++c) sum[c] = add(sum[c], load(data + i + c * kLanes));
    }
  }
  for (int c = 1; c < kSums; ++c) sum[0] = add(sum[0], sum[c]);
  return reduce_add(sum[0]);
}
