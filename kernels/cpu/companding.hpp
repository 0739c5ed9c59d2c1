// Logarithm and mu-law companding of the lanes of a vector. Included inside the instruction set's
// namespace, after its simd file.

// log(x) of normal numbers: x = m 2^e with m near 1, log m = 2 atanh((m - 1) / (m + 1))
static inline Vec log_of(Vec x) {
  Vec m;
  const Vec exponent = split_exponent(x, &m);
  const Vec one = broadcast(1.0f);
  const Vec s = div(sub(m, one), add(m, one));
  const Vec z = mul(s, s);
  Vec series = fma(broadcast(0.22222222f), z, broadcast(0.28571429f));
  series = fma(series, z, broadcast(0.4f));
  series = fma(series, z, broadcast(0.66666667f));
  const Vec log_m = fma(mul(s, z), series, add(s, s));
  return fma(exponent, broadcast(0.69314718f), log_m);
}

// Mu-law companding to [-1, 1] of values times `scale`; `unit` is 1 / log(mu + 1).
static inline Vec compand(Vec x, float scale, float mu, float unit) {
  const Vec zero = broadcast(0.0f);
  const Vec magnitude = mul(max(x, sub(zero, x)), broadcast(scale));
  const Vec clipped = min(magnitude, broadcast(1.0f));
  const Vec y = mul(log_of(fma(broadcast(mu), clipped, broadcast(1.0f))), broadcast(unit));
  return copy_sign(y, x);
}
