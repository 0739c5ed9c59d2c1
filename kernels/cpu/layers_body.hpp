// The layers of the front-end networks. Included inside the instruction set's namespace, after
// math_body.hpp and matrix_body.hpp.

static void activate(float* y, int64_t count, int activation) {
  if (activation == kNone) return;
  for (int64_t i = 0; i < count; i += kLanes) {
    const int part = count - i < kLanes ? static_cast<int>(count - i) : kLanes;
    const Vec v = load_partial(y + i, part);
    const Vec r = activation == kRelu   ? max(v, broadcast(0.0f))
                  : activation == kTanh ? tanh_of(v)
                                        : sigmoid_of(v);
    store_partial(y + i, r, part);
  }
}

static void dense(const float* x, int64_t rows, int64_t inputs, const float* weight,
                  const float* bias, int64_t outputs, int activation, float* y) {
  int64_t r = 0;
  for (; r + kDenseRows <= rows; r += kDenseRows) {
    int64_t o = 0;
    for (; o + 4 <= outputs; o += 4)
      inner_products<kDenseRows, 4>(x + r * inputs, weight + o * inputs, inputs,
                                    bias ? bias + o : nullptr, y + r * outputs + o, outputs);
    for (; o < outputs; ++o)
      inner_products<kDenseRows, 1>(x + r * inputs, weight + o * inputs, inputs,
                                    bias ? bias + o : nullptr, y + r * outputs + o, outputs);
  }
  for (; r < rows; ++r) {
    int64_t o = 0;
    for (; o + 8 <= outputs; o += 8)
      inner_products<1, 8>(x + r * inputs, weight + o * inputs, inputs, bias ? bias + o : nullptr,
                           y + r * outputs + o, outputs);
    for (; o < outputs; ++o)
      inner_products<1, 1>(x + r * inputs, weight + o * inputs, inputs, bias ? bias + o : nullptr,
                           y + r * outputs + o, outputs);
  }
  activate(y, rows * outputs, activation);
}

static void gru_gates(const float* input, const float* recurrent, int64_t hidden, float* h,
                      float* y) {
  const Vec one = broadcast(1.0f);
  for (int64_t i = 0; i < hidden; i += kLanes) {
    const int part = hidden - i < kLanes ? static_cast<int>(hidden - i) : kLanes;
    const Vec r = sigmoid_of(add(load_partial(input + i, part), load_partial(recurrent + i, part)));
    const Vec z = sigmoid_of(
        add(load_partial(input + hidden + i, part), load_partial(recurrent + hidden + i, part)));
    const Vec n = tanh_of(fma(r, load_partial(recurrent + 2 * hidden + i, part),
                              load_partial(input + 2 * hidden + i, part)));
    const Vec next = fma(z, load_partial(h + i, part), mul(sub(one, z), n));
    store_partial(h + i, next, part);
    store_partial(y + i, next, part);
  }
}

static void qrnn_pool(const float* candidate, const float* forget, const float* output,
                      int64_t rows, int64_t hidden, float* cell, float* y) {
  const Vec one = broadcast(1.0f);
  for (int64_t t = 0; t < rows; ++t) {
    const int64_t row = t * hidden;
    for (int64_t i = 0; i < hidden; i += kLanes) {
      const int part = hidden - i < kLanes ? static_cast<int>(hidden - i) : kLanes;
      const Vec f = load_partial(forget + row + i, part);
      const Vec c = fma(f, load_partial(cell + i, part),
                        mul(sub(one, f), load_partial(candidate + row + i, part)));
      store_partial(cell + i, c, part);
      store_partial(y + row + i, mul(load_partial(output + row + i, part), c), part);
    }
  }
}
