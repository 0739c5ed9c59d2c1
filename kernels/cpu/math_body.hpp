// Elementary functions, the same polynomials on every instruction set. Included inside the
// instruction set's namespace, after its simd file. A NaN becomes some finite number: the network
// behind a damaged voice may say anything, but it must say it.

// tanh(x) = x P(x^2) / Q(x^2) within +-8, largest error 2e-7 (minimax fit).
constexpr float kTanhLimit = 8.0f;

struct Fraction {
  Vec numerator, denominator;
};

static inline Fraction tanh_fraction(Vec x) {
  x = max(min(x, broadcast(kTanhLimit)), broadcast(-kTanhLimit));
  const Vec s = mul(x, x);
  Vec p = fma(broadcast(-6.020006061955878e-09f), s, broadcast(7.083458300144837e-06f));
  p = fma(p, s, broadcast(0.002684496550852642f));
  p = fma(p, s, broadcast(0.1269978312914213f));
  p = fma(p, s, broadcast(0.999999064990674f));
  Vec q = fma(broadcast(0.00019529923668775809f), s, broadcast(0.022797396325160545f));
  q = fma(q, s, broadcast(0.4603277585731913f));
  q = fma(q, s, broadcast(1.0f));
  return {mul(x, p), q};
}

static inline Vec tanh_of(Vec x) {
  const Fraction f = tanh_fraction(x);
  return div(f.numerator, f.denominator);
}

// 1 / (1 + exp(-x)) = 1/2 + 1/2 tanh(x / 2)
static inline Vec sigmoid_of(Vec x) {
  const Fraction f = tanh_fraction(mul(x, broadcast(0.5f)));
  return fma(div(f.numerator, f.denominator), broadcast(0.5f), broadcast(0.5f));
}

// tanh(a) sigmoid(b) with one division
static inline Vec gated(Vec a, Vec b) {
  const Fraction t = tanh_fraction(a);
  const Fraction s = tanh_fraction(mul(b, broadcast(0.5f)));
  const Vec top = mul(t.numerator, add(s.denominator, s.numerator));
  const Vec bottom = mul(add(t.denominator, t.denominator), s.denominator);
  return div(top, bottom);
}

// exp(x) for x <= 88, relative error 2e-7; below -87 it stays at exp(-87)
static inline Vec exp_of(Vec x) {
  x = min(max(x, broadcast(-87.0f)), broadcast(88.0f));
  const Vec n = round(mul(x, broadcast(1.44269504088896341f)));
  Vec r = fma(n, broadcast(-0.693359375f), x);
  r = fma(n, broadcast(2.12194440e-4f), r);
  Vec p = fma(broadcast(0.008312478158890937f), r, broadcast(0.04189055146342527f));
  p = fma(p, r, broadcast(0.166671163136479f));
  p = fma(p, r, broadcast(0.49999228814159286f));
  p = add(fma(mul(r, r), p, r), broadcast(1.0f));
  return mul(p, power_of_two(n));
}

// 2^x for x from -125 to 126, relative error 2e-7 (minimax fit)
static inline Vec exp2_of(Vec x) {
  const Vec n = round(x);
  const Vec r = sub(x, n);
  Vec p = fma(broadcast(0.001327647129073739f), r, broadcast(0.009675541892647743f));
  p = fma(p, r, broadcast(0.05550713092088699f));
  p = fma(p, r, broadcast(0.24022120237350464f));
  p = fma(p, r, broadcast(0.6931469440460205f));
  p = fma(p, r, broadcast(1.0000001192092896f));
  return scale_by_power(p, n);
}

#include "companding.hpp"

static void elementary(int which, const float* x, float* y, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes) {
    const int part = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
    const Vec v = load_partial(x + i, part);
    const Vec r = which == kElementaryTanh      ? tanh_of(v)
                  : which == kElementarySigmoid ? sigmoid_of(v)
                  : which == kElementaryExp     ? exp_of(v)
                                                : log_of(v);
    store_partial(y + i, r, part);
  }
}
