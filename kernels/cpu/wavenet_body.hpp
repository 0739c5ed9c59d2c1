// The bunch WaveNet, as kernels/reference/wavenet.py defines it, for several streams at a time.
// Included inside the instruction set's namespace, after math_body.hpp, matrix_body.hpp and
// draw_body.hpp. Streams share the passes over the weights and nothing else: what one of them
// computes does not depend on its neighbours.

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

// Writes history entry `at` (from the oldest) of all five histories.
static inline void remember(const WaveNetModel& m, const WaveNetScratch& s, int at, float x,
                            float e, float coded_e) {
  s.signal[at] = x;
  s.signal_gained[at] = m.signal_gain * x;
  s.signal_coded[at] = compress(m, x);
  s.residual[at] = e;
  s.residual_coded[at] = coded_e;
}

// Moves the histories back by a bunch, so that the newest sample is entry kLeadIn + past - 1.
static inline void shift_histories(const WaveNetModel& m, const WaveNetScratch& s) {
  float* const all[] = {s.signal, s.signal_gained, s.signal_coded, s.residual, s.residual_coded};
  for (float* h : all) copy(h + kLeadIn + m.bunch, m.past, h + kLeadIn);
}

static inline int queue_width(const WaveNetModel& m) {
  return m.residualP * input_bytes(m.gate[0]);
}

static void load_state(const WaveNetModel& m, WaveNetScratch* s, const WaveNetRun& run) {
  for (int i = 0; i < m.past; ++i)
    remember(m, *s, kLeadIn + i, run.signal[i], run.residual[i], compress(m, run.residual[i]));
  for (int a = 0; a < m.levelsP; a += kLanes)
    store(s->coded_amplitudes + a,
          compand(load(m.amplitudes + a), m.code_scale, m.mu, m.compress_scale));
  s->output = *run.output;
  const float* from = run.queues;
  unsigned char* to = s->queues;
  for (int l = 0; l < m.layers; ++l) {
    for (int i = 0; i < m.dilations[l]; ++i, from += m.residual, to += queue_width(m)) {
      copy(from, m.residual, s->gate);
      for (int r = m.residual; r < m.residualP; ++r) s->gate[r] = 0.0f;
      encode_inputs(m.gate[l], s->gate, m.residualP, s->stream_code);
      copy_bytes(s->stream_code, queue_width(m), to);
    }
  }
}

static void save_state(const WaveNetModel& m, const WaveNetScratch& s, const WaveNetRun& run) {
  const int64_t steps = run.frames * (m.hop / m.bunch);
  copy(s.signal + kLeadIn, m.past, run.signal);
  copy(s.residual + kLeadIn, m.past, run.residual);
  *run.output = s.output;
  const unsigned char* from = s.queues;
  float* to = run.queues;
  for (int l = 0; l < m.layers; ++l) {
    const int64_t d = m.dilations[l];
    for (int64_t i = 0; i < d; ++i, to += m.residual) {
      copy_bytes(from + (steps + i) % d * queue_width(m), queue_width(m), s.stream_code);
      decode_inputs(m.gate[l], s.stream_code, m.residual, to);
    }
    from += d * queue_width(m);
  }
}

static void load_frame(const WaveNetModel& m, const WaveNetScratch& s, const float* cond,
                       const float* lpc) {
  for (int half = 0; half < 2 * m.layers; ++half)
    copy(cond + static_cast<ptrdiff_t>(half) * m.residual, m.residual,
         s.cond + static_cast<ptrdiff_t>(half) * m.residualP);
  copy(cond + static_cast<ptrdiff_t>(2) * m.layers * m.residual, m.skip,
       s.cond + static_cast<ptrdiff_t>(2) * m.layers * m.residualP);
  // The newest sample has its own coefficient (predict), so the last entry is that of the one
  // before it.
  for (int k = 1; k < m.lpc_order; ++k) s.lpc[m.lpcP - k] = lpc[k];
  if (m.lpc_order > 0) s.lpc[m.lpcP] = lpc[0];
}

// Inputs of the trunk's first layer.
static inline void gather_inputs(const WaveNetModel& m, const WaveNetScratch& s,
                                 const float* pulse) {
  const int first = kLeadIn + m.past - m.history;
  copy(s.signal_gained + first, m.history, s.inputs);
  copy(s.signal_coded + first, m.history, s.inputs + m.history);
  copy(s.residual_coded + first, m.history, s.inputs + 2 * m.history);
  copy(pulse, 2 * m.harmonics, s.inputs + 3 * m.history);
}

static void input_layer(const WaveNetModel& m, const WaveNetScratch* s, int count) {
  Columns c;
  for (int b = 0; b < count; ++b) {
    encode_inputs(m.input, s[b].inputs, padded(m.input.inputs), s[b].input_code);
    c.x[b] = s[b].input_code;
    c.start[b] = m.input_bias;
    c.y[b] = s[b].stream;
  }
  product(m.input, c.operands(), count, kWhole);
  for (int b = 0; b < count; ++b) {
    for (int i = 0; i < m.residualP; i += kLanes)
      store(s[b].stream + i, tanh_of(load(s[b].stream + i)));
    copy(s[b].cond + static_cast<ptrdiff_t>(m.layers) * 2 * m.residualP, m.skipP, s[b].skip);
  }
}

// Where in time a step is.
struct Step {
  int in_frame, steps_a_frame;
  int slots[kMaxLayers];          // the oldest entry of each layer's queue
  int columns[kPastColumns + 1];  // in_frame modulo the index
};

static inline void advance(const WaveNetModel& m, Step* step) {
  step->in_frame = step->in_frame + 1 == step->steps_a_frame ? 0 : step->in_frame + 1;
  for (int l = 0; l < m.layers; ++l)
    step->slots[l] = step->slots[l] + 1 == m.dilations[l] ? 0 : step->slots[l] + 1;
  for (int n = 1; n <= kPastColumns; ++n) step->columns[n] = step->in_frame % n;
}

// Few streams: the past halves of the steps from this one on whose inputs are known and that lie in
// this frame, in one pass over the weights.
static void past_halves(const WaveNetModel& m, const WaveNetScratch* s, int count, int l,
                        ptrdiff_t queue, const Step& step, int group) {
  const int width = 2 * m.residualP;
  const int left = step.steps_a_frame - step.in_frame;
  const int steps = group < left ? group : left;
  Columns c;
  int columns = 0;
  for (int b = 0; b < count; ++b) {
    for (int i = 0; i < steps; ++i, ++columns) {
      const int next =
          step.slots[l] + i;  // at most one turn further: a group is no longer than that
      const int64_t slot = next < m.dilations[l] ? next : next - m.dilations[l];
      c.x[columns] = reinterpret_cast<const float*>(s[b].queues + queue + slot * queue_width(m));
      c.start[columns] = s[b].cond + static_cast<ptrdiff_t>(l) * width;
      c.partial[columns] = s[b].partial + (static_cast<ptrdiff_t>(l) * kPastColumns + i) * width;
    }
  }
  product(m.gate[l], c.operands(), columns, kFirst);
}

// Gate of one layer, both taps: leaves tanh times sigmoid, encoded for the next matrix.
static void gate_layer(const WaveNetModel& m, const WaveNetScratch* s, int count, int l,
                       ptrdiff_t queue, const Step& step) {
  const int d = m.dilations[l], width = 2 * m.residualP;
  const int group = count >= kPastColumns ? 1 : d < kPastColumns ? d : kPastColumns;
  const int column = step.columns[group];
  if (group > 1 && column == 0) past_halves(m, s, count, l, queue, step, group);
  const ptrdiff_t slot = queue + static_cast<ptrdiff_t>(step.slots[l]) * queue_width(m);
  Columns c;
  for (int b = 0; b < count; ++b) {
    c.x[b] = reinterpret_cast<const float*>(s[b].queues + slot);
    c.x2[b] = s[b].stream_code;
    c.start[b] = s[b].cond + static_cast<ptrdiff_t>(l) * width;
    c.partial[b] = s[b].partial + (static_cast<ptrdiff_t>(l) * kPastColumns + column) * width;
    c.y[b] = s[b].gate;
  }
  product(m.gate[l], c.operands(), count, group > 1 ? kSecond : kWhole);
  for (int b = 0; b < count; ++b) {
    copy_bytes(s[b].stream_code, queue_width(m), s[b].queues + slot);
    for (int i = 0; i < m.residualP; i += kLanes)
      store(s[b].gate + i, gated(load(s[b].gate + i), load(s[b].gate + m.residualP + i)));
    encode_inputs(m.skip_mix[l], s[b].gate, m.residualP, s[b].gated_code[l & 1]);
  }
}

// Adds a layer's output to the residual stream.
static void residual_layer(const WaveNetModel& m, const WaveNetScratch* s, int count, int l) {
  Columns c;
  for (int b = 0; b < count; ++b) {
    c.x[b] = s[b].gated_code[l & 1];
    c.start[b] = c.y[b] = s[b].stream;
    for (int i = 0; i < m.residualP; i += kLanes)
      store(s[b].stream + i, add(load(s[b].stream + i), load(m.residual_bias[l] + i)));
  }
  product(m.residual_mix[l], c.operands(), count, kWhole);
}

// Adds a layer's output to the skip sum.
static void skip_layer(const WaveNetModel& m, const WaveNetScratch* s, int count, int l) {
  Columns c;
  for (int b = 0; b < count; ++b) {
    c.x[b] = s[b].gated_code[l & 1];
    c.start[b] = c.y[b] = s[b].skip;
  }
  product(m.skip_mix[l], c.operands(), count, kWhole);
}

// Runs the trunk for one bunch of every stream; leaves the heads' part of it in `heads`. The skip
// product of a layer comes after the gate of the next one: the processor works on it while it waits
// for that gate.
static void trunk(const WaveNetModel& m, const WaveNetScratch* s, int count, const Step& step) {
  input_layer(m, s, count);
  ptrdiff_t queue = 0;
  for (int l = 0; l < m.layers; ++l) {
    for (int b = 0; b < count; ++b)
      encode_inputs(m.gate[l], s[b].stream, m.residualP, s[b].stream_code);
    gate_layer(m, s, count, l, queue, step);
    if (l > 0) skip_layer(m, s, count, l - 1);
    if (l + 1 < m.layers) residual_layer(m, s, count, l);
    queue += static_cast<ptrdiff_t>(m.dilations[l]) * queue_width(m);
  }
  skip_layer(m, s, count, m.layers - 1);
  Columns c;
  for (int b = 0; b < count; ++b) {
    encode_inputs(m.bunch_head, s[b].skip, m.skipP, s[b].skip_code);
    c.x[b] = s[b].skip_code;
    c.start[b] = m.bunch_bias;
    c.y[b] = s[b].heads;
  }
  product(m.bunch_head, c.operands(), count, kWhole);
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

// What the samples before the bunch give to every head: nothing of it has to wait for a draw.
static inline void prepare_heads(const WaveNetModel& m, const WaveNetScratch& s) {
  for (int i = 0; i < m.bunch && i < m.head_history; ++i)
    head_pass(m, s, {i, kLeadIn + m.past + i, m.head_history, i + 1, nullptr});
}

// Inputs of the output matrix for sample i of the bunch. Returns the prediction.
static inline float head(const WaveNetModel& m, const WaveNetScratch& s, int i) {
  const int end = kLeadIn + m.past + i;
  const float prediction = predict(m, s, end);
  const float views[] = {m.signal_gain * prediction, compress(m, prediction)};
  head_pass(m, s, {i, end, i < m.head_history ? i : m.head_history, 1, views});
  encode_inputs(m.output, s.heads + i * m.headP, m.headP, s.hidden_code);
  return prediction;
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
    sum[b] = scale_logits(s[b].logits, runs[b].temperature[frame]);
  }
  for (int b = 0; b < count; ++b) sum[b] = exponentiate(s[b].logits, sum[b], s[b].weights);
  for (int b = 0; b < count; ++b) take_floor(s[b].weights, runs[b].floor * sum[b], s[b].before);
  for (int b = 0; b < count; ++b) {
    codes[b] = level_at(s[b].logits, s[b].weights, s[b].before, runs[b].uniforms[t], m.levels);
    runs[b].codes[t] = static_cast<uint8_t>(codes[b]);
  }
}

// Turns the code of sample i of the bunch, sample t of the run, into a sample.
static inline void accept(const WaveNetModel& m, WaveNetScratch* s, const WaveNetRun& run, int code,
                          int64_t t, int i, float prediction) {
  const float e = m.amplitudes[code];
  const float x = clip(prediction + e);
  remember(m, *s, kLeadIn + m.past + i, x, e, s->coded_amplitudes[code]);
  s->output = x + m.pre_emphasis * s->output;
  run.samples[t] = s->output;
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
  float prediction[kMaxStreams];
  int codes[kMaxStreams];
  for (int b = 0; b < count; ++b) {
    prepare_heads(m, s[b]);
    c.x[b] = s[b].hidden_code;
    c.start[b] = m.output_bias;
    c.y[b] = s[b].logits;
  }
  for (int i = 0; i < m.bunch; ++i) {
    fetch_ahead(m, i);
    for (int b = 0; b < count; ++b) prediction[b] = head(m, s[b], i);
    product(m.output, c.operands(), count, kWhole);
    draw(m, s, runs, count, frame, t + i, codes);
    for (int b = 0; b < count; ++b) accept(m, s + b, runs[b], codes[b], t + i, i, prediction[b]);
  }
  for (int b = 0; b < count; ++b) shift_histories(m, s[b]);
}

static void wavenet(const WaveNetModel& m, WaveNetScratch* s, const WaveNetRun* runs, int count) {
  for (int b = 0; b < count; ++b) load_state(m, s + b, runs[b]);
  const int steps_a_frame = m.hop / m.bunch;
  const int64_t channels = static_cast<int64_t>(2) * m.layers * m.residual + m.skip;
  Step step{};
  step.steps_a_frame = steps_a_frame;
  int64_t number = 0;  // of the step
  int active = count;
  for (int64_t f = 0; active > 0 && f < runs[0].frames; ++f) {
    while (runs[active - 1].frames <= f) --active;
    for (int b = 0; b < active; ++b)
      load_frame(m, s[b], runs[b].cond + f * channels, runs[b].lpc + f * m.lpc_order);
    for (int n = 0; n < steps_a_frame; ++n, ++number, advance(m, &step)) {
      for (int b = 0; b < active; ++b)
        gather_inputs(m, s[b], runs[b].pulse + number * 2 * m.harmonics);
      trunk(m, s, active, step);
      bunch(m, s, runs, active, f, number * m.bunch);
    }
  }
  for (int b = 0; b < count; ++b) save_state(m, s[b], runs[b]);
}

// For tests: the integer sums of an int8 matrix, as `product` makes them.
static void int8_sums(const Matrix& m, const float* x, int64_t columns, int32_t* sums) {
  constexpr int kMost = 1024;  // the largest input of a WaveNet's matrix
  static_assert(kMost % kBlock == 0, "whole blocks");
  alignas(64) float values[kMost], codes[kMost];
  if (m.inputs > kMost) return;
  for (int64_t c = 0; c < columns; ++c, x += m.inputs, sums += m.outputs) {
    for (int i = 0; i < kMost; ++i) values[i] = i < m.inputs ? x[i] : 0.0f;
    encode_inputs(m, values, padded(m.inputs), codes);
    const float* const in[] = {codes};
    float* const out[] = {reinterpret_cast<float*>(sums)};
    product(m, {in, nullptr, in, out, nullptr}, 1, kFirst);
  }
}
