// What makes a bunch of samples of the trunk's output: predictions, heads, draws. Included inside
// the instruction set's namespace, after draw_body.hpp and before wavenet_body.hpp.

constexpr float kSignalLimit = 2.0f;

// Pointers of a product, one a column, filled by the functions below.
struct Columns {
  const float* x[kMaxStreams];
  const float* x2[kMaxStreams];
  const float* start[kMaxStreams];
  float* partial[kMaxStreams];
  float* y[kMaxStreams];

  Operands operands() const { return {x, x2, start, partial, y}; }
};
static_assert(3 * kPastColumns <= kMaxStreams, "columns of the past halves of few streams");

static inline void copy(const float* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = from[i];
}

static inline void copy_bytes(const void* from, int64_t count, void* to) {
  __builtin_memcpy(to, from, static_cast<size_t>(count));
}

static inline float compress(const WaveNetModel& m, float x) {
  return first_lane(compand(broadcast(x), m.code_scale, m.mu, m.compress_scale));
}

// One number of each stream; all of them are companded together.
struct StreamValues {
  alignas(64) float v[kMaxStreams] = {0.0f};
};
static_assert(kMaxStreams % kLanes == 0, "whole vectors");

static inline void compress_all(const WaveNetModel& m, const StreamValues& x, int count,
                                StreamValues* coded) {
  for (int b = 0; b < count; b += kLanes)
    store(coded->v + b, compand(load(x.v + b), m.code_scale, m.mu, m.compress_scale));
}

// A sample and its residual, each also companded.
struct Remembered {
  float x, coded_x, e, coded_e;
};

// Writes history entry `at` (from the oldest) of all five histories.
static inline void remember(const WaveNetModel& m, const WaveNetScratch& s, int at,
                            const Remembered& r) {
  s.signal[at] = r.x;
  s.signal_gained[at] = m.signal_gain * r.x;
  s.signal_coded[at] = r.coded_x;
  s.residual[at] = r.e;
  s.residual_coded[at] = r.coded_e;
}

// Moves the histories back by a bunch, so that the newest sample is entry kLeadIn + past - 1.
static inline void shift_histories(const WaveNetModel& m, const WaveNetScratch& s) {
  float* const all[] = {s.signal, s.signal_gained, s.signal_coded, s.residual, s.residual_coded};
  for (float* h : all) copy(h + kLeadIn + m.bunch, m.past, h + kLeadIn);
}

// Prediction of the sample after entry `end` - 1. That entry was written just now, so it is kept
// out of the vector loads.
static inline float predict(const WaveNetModel& m, const WaveNetScratch& s, int end) {
  Sums sum;
  for (int v = 0; v < kBlockVectors; ++v) sum.v[v] = broadcast(0.0f);
  const float* const older = s.signal + end - 1 - m.lpcP;
  for (int k = 0; k < m.lpcP; k += kBlock)
    for (int v = 0; v < kBlockVectors; ++v)
      sum.v[v] = fma(load(s.lpc + k + v * kLanes), load(older + k + v * kLanes), sum.v[v]);
  return s.lpc[m.lpcP] * s.signal[end - 1] + reduce_block_add(sum.v);
}

// Which samples before entry `end` a pass over a head's columns adds: those `oldest` to `newest`
// entries before it, oldest first, then the prediction if there is one.
struct HeadPass {
  int head, end, oldest, newest;
  const float* prediction;  // two views, or null
};

template <int kVectors>
static inline void head_columns(const WaveNetModel& m, const WaveNetScratch& s, const HeadPass& p,
                                const float* column, float* to) {
  const ptrdiff_t view = static_cast<ptrdiff_t>(m.head_history) * m.headP;
  const float* history = column + static_cast<ptrdiff_t>(2 + m.head_history - p.oldest) * m.headP;
  Vec sum[kVectors];
  const auto add_column = [&sum](const float* from, float value) {
    const Vec x = broadcast(value);
    for (int v = 0; v < kVectors; ++v) sum[v] = fma(load(from + v * kLanes), x, sum[v]);
  };
  for (int v = 0; v < kVectors; ++v) sum[v] = load(to + v * kLanes);
  for (int at = p.end - p.oldest; at <= p.end - p.newest; ++at, history += m.headP) {
    add_column(history, s.signal_gained[at]);
    add_column(history + view, s.signal_coded[at]);
    add_column(history + 2 * view, s.residual_coded[at]);
  }
  if (p.prediction != nullptr) {
    add_column(column, p.prediction[0]);
    add_column(column + m.headP, p.prediction[1]);
  }
  for (int v = 0; v < kVectors; ++v) store(to + v * kLanes, sum[v]);
}

static inline void head_pass(const WaveNetModel& m, const WaveNetScratch& s, const HeadPass& p) {
  float* const sum = s.heads + p.head * m.headP;
  int j = 0;
  for (; j + 4 * kLanes <= m.headP; j += 4 * kLanes)
    head_columns<4>(m, s, p, m.draw[p.head] + j, sum + j);
  for (; j < m.headP; j += kLanes) head_columns<1>(m, s, p, m.draw[p.head] + j, sum + j);
}

// What the samples before the bunch give to every head: nothing of it has to wait for a draw. Head
// by head, so that the weights of one are read from the cache once for all streams.
static inline void prepare_heads(const WaveNetModel& m, const WaveNetScratch* s, int count) {
  for (int i = 0; i < m.bunch && i < m.head_history; ++i)
    for (int b = 0; b < count; ++b)
      head_pass(m, s[b], {i, kLeadIn + m.past + i, m.head_history, i + 1, nullptr});
}

// Inputs of the output matrix for sample i of the bunch; `prediction` has two views.
static inline void head(const WaveNetModel& m, const WaveNetScratch& s, int i,
                        const float* prediction) {
  const int end = kLeadIn + m.past + i;
  head_pass(m, s, {i, end, i < m.head_history ? i : m.head_history, 1, prediction});
  encode_inputs(m.output, s.heads + i * m.headP, m.headP, s.hidden_code);
}

// Predicts sample i of the bunch in every stream and computes the inputs of their output matrix.
static inline void heads(const WaveNetModel& m, const WaveNetScratch* s, int count, int i,
                         StreamValues* prediction) {
  StreamValues coded;
  for (int b = 0; b < count; ++b) prediction->v[b] = predict(m, s[b], kLeadIn + m.past + i);
  compress_all(m, *prediction, count, &coded);
  for (int b = 0; b < count; ++b) {
    const float views[] = {m.signal_gain * prediction->v[b], coded.v[b]};
    head(m, s[b], i, views);
  }
}

static inline float clip(float x) {
  const float low = x > -kSignalLimit ? x : -kSignalLimit;  // a NaN too
  return low < kSignalLimit ? low : kSignalLimit;
}

// Draws sample t of every run from the logits, or takes the given ones.
static inline void draw(const WaveNetModel& m, const WaveNetScratch* s, const WaveNetRun* runs,
                        int count, int64_t frame, int64_t t, int* codes) {
  float sum[kMaxStreams];
  for (int b = 0; b < count; ++b) {
    if (runs[b].logits != nullptr) copy(s[b].logits, m.levels, runs[b].logits + t * m.levels);
    codes[b] = runs[b].given != nullptr ? runs[b].given[t] : -1;
  }
  if (codes[0] >= 0) return;  // scored, not drawn; such runs do not share a call with others
  for (int b = 0; b < count; ++b) {
    for (int a = m.levels; a < kMaxLevels; ++a) s[b].logits[a] = -1e30f;  // never likely
    sum[b] = largest_logit(s[b].logits);
  }
  for (int b = 0; b < count; ++b)
    sum[b] = exponentiate(s[b].logits, sum[b], runs[b].temperature[frame], s[b].weights);
  for (int b = 0; b < count; ++b) take_floor(s[b].weights, runs[b].floor * sum[b], s[b].before);
  for (int b = 0; b < count; ++b) {
    codes[b] = level_at(s[b].logits, s[b].weights, s[b].before, runs[b].uniforms[t], m.levels);
    runs[b].codes[t] = static_cast<uint8_t>(codes[b]);
  }
}

// Turns the codes of sample i of the bunch, sample t of the runs, into samples.
static inline void accept(const WaveNetModel& m, WaveNetScratch* s, const WaveNetRun* runs,
                          int count, const int* codes, int64_t t, int i,
                          const StreamValues& prediction) {
  StreamValues x, coded;
  for (int b = 0; b < count; ++b) x.v[b] = clip(prediction.v[b] + m.amplitudes[codes[b]]);
  compress_all(m, x, count, &coded);
  for (int b = 0; b < count; ++b) {
    remember(m, s[b], kLeadIn + m.past + i,
             {x.v[b], coded.v[b], m.amplitudes[codes[b]], s[b].coded_amplitudes[codes[b]]});
    s[b].output = x.v[b] + m.pre_emphasis * s[b].output;
    runs[b].samples[t] = s[b].output;
  }
}

// Draws leave the second-level cache idle: a share of the weights that the next step begins with is
// fetched beside each.
static inline void fetch_ahead(const WaveNetModel& m, int sample) {
  constexpr ptrdiff_t kBytes = 16384, kLine = 64;
  const ptrdiff_t first = kBytes * sample / m.bunch, last = kBytes * (sample + 1) / m.bunch;
  const ptrdiff_t end = m.step_bytes < last ? m.step_bytes : last;
  for (ptrdiff_t at = first / kLine * kLine; at < end; at += kLine)
    __builtin_prefetch(m.input.data + at);
}

static void bunch(const WaveNetModel& m, WaveNetScratch* s, const WaveNetRun* runs, int count,
                  int64_t frame, int64_t t) {
  Columns c;
  StreamValues prediction;
  int codes[kMaxStreams];
  prepare_heads(m, s, count);
  for (int b = 0; b < count; ++b) {
    c.x[b] = s[b].hidden_code;
    c.start[b] = m.output_bias;
    c.y[b] = s[b].logits;
  }
  for (int i = 0; i < m.bunch; ++i) {
    fetch_ahead(m, i);
    heads(m, s, count, i, &prediction);
    product(m.output, c.operands(), count, kWhole);
    draw(m, s, runs, count, frame, t + i, codes);
    accept(m, s, runs, count, codes, t + i, i, prediction);
  }
  for (int b = 0; b < count; ++b) shift_histories(m, s[b]);
}
