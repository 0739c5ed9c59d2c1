// The bunch WaveNet, as kernels/reference/wavenet.py defines it. Included inside the instruction
// set's namespace, after math_body.hpp and matrix_body.hpp.

constexpr float kSignalLimit = 2.0f;

static inline void copy(const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

static inline float compress(const WaveNetModel& m, float x) {
  const float magnitude = (x < 0.0f ? -x : x) * m.code_scale;
  const float clipped = magnitude < 1.0f ? magnitude : 1.0f;
  const float y = log_of(1.0f + m.mu * clipped) * m.compress_scale;
  return x < 0.0f ? -y : y;
}

// Writes history entry `at` (from the oldest) of all five histories.
static inline void remember(const WaveNetModel& m, const WaveNetScratch& s, int at, float x,
                            float e) {
  s.signal[at] = x;
  s.signal_gained[at] = m.signal_gain * x;
  s.signal_coded[at] = compress(m, x);
  s.residual[at] = e;
  s.residual_coded[at] = compress(m, e);
}

// Moves the histories back by a bunch, so that the newest sample is entry kLeadIn + past - 1.
static inline void shift_histories(const WaveNetModel& m, const WaveNetScratch& s) {
  float* const all[] = {s.signal, s.signal_gained, s.signal_coded, s.residual, s.residual_coded};
  for (float* h : all) copy(h + kLeadIn + m.bunch, m.past, h + kLeadIn);
}

static inline int gather_histories(const WaveNetScratch& s, int end, int count, float* to) {
  copy(s.signal_gained + end - count, count, to);
  copy(s.signal_coded + end - count, count, to + count);
  copy(s.residual_coded + end - count, count, to + 2 * count);
  return 3 * count;
}

static void load_state(const WaveNetModel& m, const WaveNetScratch& s, const WaveNetRun& run) {
  for (int i = 0; i < m.past; ++i) remember(m, s, kLeadIn + i, run.signal[i], run.residual[i]);
  const float* from = run.queues;
  float* to = s.queues;
  for (int64_t d = 0; d < m.dilation_sum; ++d, from += m.residual, to += m.residualP)
    copy(from, m.residual, to);
}

static void save_state(const WaveNetModel& m, const WaveNetScratch& s, const WaveNetRun& run,
                       int64_t steps) {
  copy(s.signal + kLeadIn, m.past, run.signal);
  copy(s.residual + kLeadIn, m.past, run.residual);
  const float* from = s.queues;
  float* to = run.queues;
  for (int l = 0; l < m.layers; ++l) {
    const int64_t d = m.dilations[l];
    for (int64_t i = 0; i < d; ++i)
      copy(from + (steps + i) % d * m.residualP, m.residual, to + i * m.residual);
    from += d * m.residualP;
    to += d * m.residual;
  }
}

static void load_frame(const WaveNetModel& m, const WaveNetScratch& s, const float* cond,
                       const float* lpc) {
  for (int half = 0; half < 2 * m.layers; ++half)
    copy(cond + static_cast<ptrdiff_t>(half) * m.residual, m.residual,
         s.cond + static_cast<ptrdiff_t>(half) * m.residualP);
  copy(cond + static_cast<ptrdiff_t>(2) * m.layers * m.residual, m.skip,
       s.cond + static_cast<ptrdiff_t>(2) * m.layers * m.residualP);
  for (int k = 0; k < m.lpc_order; ++k) s.lpc[m.lpcP - 1 - k] = lpc[k];
}

// Past halves of layer l for the steps from `step` on whose inputs are known and that lie in this
// frame; `left` steps remain in it.
static inline void past_halves(const WaveNetModel& m, const WaveNetScratch& s, int l,
                               const float* queue, int64_t step, int left) {
  int columns = m.dilations[l] < kPastColumns ? m.dilations[l] : kPastColumns;
  columns = columns < left ? columns : left;
  const float* x[kPastColumns];
  for (int c = 0; c < columns; ++c) x[c] = queue + (step + c) % m.dilations[l] * m.residualP;
  const int width = 2 * m.residualP;
  matrix_columns(m.past_gate[l], x, columns, s.cond + static_cast<ptrdiff_t>(l) * width,
                 s.gates + static_cast<ptrdiff_t>(l) * kPastColumns * width);
}

// Runs the trunk for one bunch; leaves the heads' part of the trunk in s.heads.
static void trunk(const WaveNetModel& m, const WaveNetScratch& s, const float* pulse, int64_t step,
                  int step_of_frame, int steps_a_frame) {
  const int width = 2 * m.residualP;
  const int used = gather_histories(s, kLeadIn + m.past, m.history, s.inputs);
  copy(pulse, 2 * m.harmonics, s.inputs + used);
  matrix_vector(m.input, s.inputs, m.input_bias, s.mix);
  for (int i = 0; i < m.residualP; i += kLanes) store(s.mix + i, tanh_of(load(s.mix + i)));
  float* const skip = s.mix + m.residualP;
  copy(s.cond + static_cast<ptrdiff_t>(m.layers) * width, m.skipP, skip);
  float* queue = s.queues;
  for (int l = 0; l < m.layers; ++l) {
    const int d = m.dilations[l];
    const int group = d < kPastColumns ? d : kPastColumns;
    const int column = step_of_frame % group;
    if (column == 0) past_halves(m, s, l, queue, step, steps_a_frame - step_of_frame);
    const float* past = s.gates + (static_cast<ptrdiff_t>(l) * kPastColumns + column) * width;
    matrix_vector(m.current_gate[l], s.mix, past, s.gate);
    for (int i = 0; i < m.residualP; i += kLanes)
      store(s.gated + i, gated(load(s.gate + i), load(s.gate + m.residualP + i)));
    copy(s.mix, m.residualP, queue + step % d * m.residualP);
    queue += static_cast<ptrdiff_t>(d) * m.residualP;
    if (m.residual_bias[l] != nullptr) {
      for (int i = 0; i < m.residualP; i += kLanes)
        store(s.mix + i, add(load(s.mix + i), load(m.residual_bias[l] + i)));
      matrix_vector(m.mix[l], s.gated, s.mix, s.mix);
    } else {
      matrix_vector(m.mix[l], s.gated, skip, skip);
    }
  }
  for (int i = 0; i < m.skipP; i += kLanes) store(skip + i, max(load(skip + i), broadcast(0.0f)));
  matrix_vector(m.bunch_head, skip, m.bunch_bias, s.heads);
}

static inline float predict(const WaveNetModel& m, const WaveNetScratch& s, int end) {
  Vec sum = broadcast(0.0f);
  for (int k = 0; k < m.lpcP; k += kLanes)
    sum = fma(load(s.lpc + k), load(s.signal + end - m.lpcP + k), sum);
  return reduce_add(sum);
}

// Logits of sample i of the bunch into s.logits; padding is never likely.
static void head(const WaveNetModel& m, const WaveNetScratch& s, int i, int end, float prediction) {
  s.inputs[0] = m.signal_gain * prediction;
  s.inputs[1] = compress(m, prediction);
  gather_histories(s, end, m.head_history, s.inputs + 2);
  matrix_vector(m.draw[i], s.inputs, s.heads + static_cast<ptrdiff_t>(i) * m.headP, s.hidden);
  for (int j = 0; j < m.headP; j += kLanes)
    store(s.hidden + j, max(load(s.hidden + j), broadcast(0.0f)));
  matrix_vector(m.output, s.hidden, m.output_bias, s.logits);
  for (int a = m.levels; a < m.levelsP; ++a) s.logits[a] = -1e30f;
}

static int likeliest(const float* chances, int levels) {
  int best = 0;
  for (int a = 1; a < levels; ++a) best = chances[a] > chances[best] ? a : best;
  return best;
}

// Inverts the cumulative distribution; always returns 0 to levels - 1, whatever the logits are.
static int draw(const WaveNetModel& m, const WaveNetScratch& s, float temperature, float floor,
                float uniform) {
  const Vec inverse = broadcast(1.0f / temperature);
  Vec top = broadcast(-1e30f);
  for (int a = 0; a < m.levelsP; a += kLanes) top = max(mul(load(s.logits + a), inverse), top);
  top = broadcast(reduce_max(top));
  Vec sums = broadcast(0.0f);
  for (int a = 0; a < m.levelsP; a += kLanes) {
    const Vec e = exp_of(sub(mul(load(s.logits + a), inverse), top));
    store(s.logits + a, e);
    sums = add(sums, e);
  }
  const Vec threshold = broadcast(floor * reduce_add(sums));
  float before[kMaxLevels / kBlock + 1];  // weight below each block of levels
  before[0] = 0.0f;
  for (int b = 0; b < m.levelsP / kBlock; ++b) {
    Vec block = broadcast(0.0f);
    for (int a = b * kBlock; a < (b + 1) * kBlock; a += kLanes) {
      const Vec c = max(sub(load(s.logits + a), threshold), broadcast(0.0f));
      store(s.chances + a, c);
      block = add(block, c);
    }
    before[b + 1] = before[b] + reduce_add(block);
  }
  const float total = before[m.levelsP / kBlock];
  if (!(total > 0.0f)) return likeliest(s.logits, m.levels);
  const float target = uniform * total;
  int b = 0;
  while (b + 1 < m.levelsP / kBlock && !(before[b + 1] > target)) ++b;
  float below = before[b];
  int a = b * kBlock;
  for (; a < (b + 1) * kBlock && a < m.levels; ++a) {
    below += s.chances[a];
    if (below > target) return a;
  }
  for (--a; a > 0 && !(s.chances[a] > 0.0f);) --a;  // rounding left none: the last possible level
  return a;
}

static inline float clip(float x) {
  const float low = x > -kSignalLimit ? x : -kSignalLimit;  // a NaN too
  return low < kSignalLimit ? low : kSignalLimit;
}

static void bunch(const WaveNetModel& m, const WaveNetScratch& s, const WaveNetRun& run,
                  int64_t frame, int64_t t, float* output) {
  for (int i = 0; i < m.bunch; ++i, ++t) {
    const int end = kLeadIn + m.past + i;
    const float prediction = predict(m, s, end);
    head(m, s, i, end, prediction);
    if (run.logits != nullptr) copy(s.logits, m.levels, run.logits + t * m.levels);
    const int code = run.given != nullptr
                         ? run.given[t]
                         : draw(m, s, run.temperature[frame], run.floor, run.uniforms[t]);
    if (run.codes != nullptr) run.codes[t] = static_cast<uint8_t>(code);
    const float e = m.amplitudes[code];
    const float x = clip(prediction + e);
    remember(m, s, end, x, e);
    *output = x + m.pre_emphasis * *output;
    run.samples[t] = *output;
  }
  shift_histories(m, s);
}

static void wavenet(const WaveNetModel& m, const WaveNetScratch& s, const WaveNetRun& run) {
  load_state(m, s, run);
  const int steps_a_frame = m.hop / m.bunch;
  const int64_t channels = static_cast<int64_t>(2) * m.layers * m.residual + m.skip;
  float output = *run.output;
  int64_t step = 0;
  for (int64_t f = 0; f < run.frames; ++f) {
    load_frame(m, s, run.cond + f * channels, run.lpc + f * m.lpc_order);
    for (int n = 0; n < steps_a_frame; ++n, ++step) {
      trunk(m, s, run.pulse + step * 2 * m.harmonics, step, n, steps_a_frame);
      bunch(m, s, run, f, step * m.bunch, &output);
    }
  }
  *run.output = output;
  save_state(m, s, run, step);
}
