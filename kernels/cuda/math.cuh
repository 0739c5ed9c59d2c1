// Elementary functions: the polynomials of cpu/math_body.hpp and cpu/companding.hpp, a number at a
// time. A NaN becomes some finite number: the network behind a damaged voice may say anything, but
// it must say it.
#pragma once

#include <cmath>

#include "portable.cuh"

namespace dv::cuda {

struct Fraction {
  float numerator, denominator;
};

// tanh(x) = x P(x^2) / Q(x^2) within +-8, largest error 2e-7 (minimax fit).
DV_DEVICE Fraction tanh_fraction(float x) {
  x = fmaxf(fminf(x, 8.0f), -8.0f);
  const float s = x * x;
  float p = fused(-6.020006061955878e-09f, s, 7.083458300144837e-06f);
  p = fused(p, s, 0.002684496550852642f);
  p = fused(p, s, 0.1269978312914213f);
  p = fused(p, s, 0.999999064990674f);
  float q = fused(0.00019529923668775809f, s, 0.022797396325160545f);
  q = fused(q, s, 0.4603277585731913f);
  q = fused(q, s, 1.0f);
  return {x * p, q};
}

DV_DEVICE float tanh_of(float x) {
  const Fraction f = tanh_fraction(x);
  return f.numerator / f.denominator;
}

// 1 / (1 + exp(-x)) = 1/2 + 1/2 tanh(x / 2)
DV_DEVICE float sigmoid_of(float x) {
  const Fraction f = tanh_fraction(x * 0.5f);
  return fused(f.numerator / f.denominator, 0.5f, 0.5f);
}

// tanh(a) sigmoid(b) with one division
DV_DEVICE float gated(float a, float b) {
  const Fraction t = tanh_fraction(a);
  const Fraction s = tanh_fraction(b * 0.5f);
  const float top = t.numerator * (s.denominator + s.numerator);
  return top / ((t.denominator + t.denominator) * s.denominator);
}

// exp(x) for x <= 88, relative error 2e-7; below -87 it stays at exp(-87)
DV_DEVICE float exp_of(float x) {
  x = fminf(fmaxf(x, -87.0f), 88.0f);
  const float n = round_even(x * 1.44269504088896341f);
  float r = fused(n, -0.693359375f, x);
  r = fused(n, 2.12194440e-4f, r);
  float p = fused(0.008312478158890937f, r, 0.04189055146342527f);
  p = fused(p, r, 0.166671163136479f);
  p = fused(p, r, 0.49999228814159286f);
  p = fused(r * r, p, r) + 1.0f;
  return p * as_float(static_cast<uint32_t>(static_cast<int>(n) + 127) << 23);
}

// log(x) of normal numbers: x = m 2^e with m near 1, log m = 2 atanh((m - 1) / (m + 1))
DV_DEVICE float log_of(float x) {
  const uint32_t bits = as_bits(x), shifted = bits - 0x3f3504f3u;  // sqrt(1/2)
  const int exponent = static_cast<int>(shifted) >> 23;
  const float m = as_float(bits - (static_cast<uint32_t>(exponent) << 23));
  const float s = (m - 1.0f) / (m + 1.0f), z = s * s;
  float series = fused(0.22222222f, z, 0.28571429f);
  series = fused(series, z, 0.4f);
  series = fused(series, z, 0.66666667f);
  return fused(static_cast<float>(exponent), 0.69314718f, fused(s * z, series, s + s));
}

// Mu-law companding to [-1, 1] of values times `scale`; `unit` is 1 / log(mu + 1).
DV_DEVICE float compand(float x, float scale, float mu, float unit) {
  const float magnitude = fminf(fabsf(x) * scale, 1.0f);
  return copysignf(log_of(fused(mu, magnitude, 1.0f)) * unit, x);
}

// The nearest bfloat16, ties to even.
DV_DEVICE float round_to_bfloat(float x) {
  const uint32_t bits = as_bits(x);
  return as_float((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u);
}

}  // namespace dv::cuda
