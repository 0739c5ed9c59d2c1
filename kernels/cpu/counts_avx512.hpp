// Sums of integer products in AVX-512 registers. Included inside the instruction set's namespace,
// before the products.

typedef __m512i Counts;  // sums of a block of 16 outputs
typedef __m512i Int8Weights;
typedef __m512i Int8Inputs;

static inline Counts no_counts() { return _mm512_setzero_si512(); }
static inline Counts add_counts(Counts a, Counts b) { return _mm512_add_epi32(a, b); }
static inline Counts load_counts(const int32_t* p) { return _mm512_loadu_si512(p); }
static inline void store_counts(int32_t* p, Counts c) { _mm512_storeu_si512(p, c); }
static inline Vec counts_vec(Counts c, int) { return _mm512_cvtepi32_ps(c); }
