// The bunch WaveNet, as kernels/reference/wavenet.py defines it, for several streams at a time.
// Included inside the instruction set's namespace, after math_body.hpp, matrix_body.hpp and
// bunch_body.hpp. Streams share the passes over the weights and nothing else: what one of them
// computes does not depend on its neighbours.

// `count` bytes, a multiple of 16, without a call.
static inline void copy_blocks(const void* from, int count, void* to) {
  constexpr int kWide = 64, kNarrow = 16;
  const auto* const in = static_cast<const unsigned char*>(from);
  auto* const out = static_cast<unsigned char*>(to);
  int i = 0;
  for (; i + kWide <= count; i += kWide) __builtin_memcpy(out + i, in + i, kWide);
  for (; i < count; i += kNarrow) __builtin_memcpy(out + i, in + i, kNarrow);
}

static inline int queue_width(const WaveNetModel& m) {
  return m.residualP * input_bytes(m.gate[0]);
}

static void load_state(const WaveNetModel& m, WaveNetScratch* s, const WaveNetRun& run) {
  for (int i = 0; i < m.past; ++i)
    remember(
        m, *s, kLeadIn + i,
        {run.signal[i], compress(m, run.signal[i]), run.residual[i], compress(m, run.residual[i])});
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

static void load_conditioning(const WaveNetModel& m, const WaveNetScratch& s, const float* cond) {
  for (int half = 0; half < 2 * m.layers; ++half)
    copy(cond + static_cast<ptrdiff_t>(half) * m.residual, m.residual,
         s.cond + static_cast<ptrdiff_t>(half) * m.residualP);
  copy(cond + static_cast<ptrdiff_t>(2) * m.layers * m.residual, m.skip,
       s.cond + static_cast<ptrdiff_t>(2) * m.layers * m.residualP);
}

static void load_frame(const WaveNetModel& m, const WaveNetScratch& s, const float* cond,
                       const float* lpc) {
  load_conditioning(m, s, cond);
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

// The conditioning's part of the skip sum.
static inline void begin_skip(const WaveNetModel& m, const WaveNetScratch& s) {
  copy(s.cond + static_cast<ptrdiff_t>(m.layers) * 2 * m.residualP, m.skipP, s.skip);
}

static void input_layer(const WaveNetModel& m, const WaveNetScratch* s, int count) {
  Columns c;
  for (int b = 0; b < count; ++b) {
    encode_inputs(m.input, s[b].inputs, padded(m.input.inputs), s[b].input_code);
    c.x[b] = s[b].input_code;
    c.start[b] = m.input_bias;
    c.y[b] = s[b].stream;
  }
  product(m.input, c.operands(count), count, kWhole);
  for (int b = 0; b < count; ++b) {
    for (int i = 0; i < m.residualP; i += kLanes)
      store(s[b].stream + i, tanh_of(load(s[b].stream + i)));
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

static inline float* gated_code(const WaveNetModel& m, const WaveNetScratch& s, int place) {
  return s.gated_code + static_cast<ptrdiff_t>(place) * m.residualP;
}

// Remembers the layer's input in the slot of its queue and turns the sums of the gate into its
// value, encoded.
static inline void finish_gate(const WaveNetModel& m, const WaveNetScratch& s, int l,
                               ptrdiff_t slot, float* code) {
  copy_blocks(s.stream_code, queue_width(m), s.queues + slot);
  const float *const tanh_half = s.gate, *const sigmoid_half = s.gate + m.residualP;
  encode_each(m.skip_mix[l], m.residualP, code, [tanh_half, sigmoid_half](int i) {
    return gated(load(tanh_half + i), load(sigmoid_half + i));
  });
}

// Encodes the residual stream for a layer and adds the bias of the layer's output to it.
static inline void enter_layer(const WaveNetModel& m, const WaveNetScratch& s, int l) {
  if (l + 1 == m.layers) return encode_inputs(m.gate[l], s.stream, m.residualP, s.stream_code);
  float* const stream = s.stream;
  const float* const bias = m.residual_bias[l];
  encode_each(m.gate[l], m.residualP, s.stream_code, [stream, bias](int i) {
    const Vec x = load(stream + i);
    store(stream + i, add(x, load(bias + i)));
    return x;
  });
}

// Gate of one layer, both taps: leaves tanh times sigmoid, encoded for the next matrix.
static void gate_layer(const WaveNetModel& m, const WaveNetScratch* s, int count, int l, int place,
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
  product(m.gate[l], c.operands(count), count, group > 1 ? kSecond : kWhole);
  for (int b = 0; b < count; ++b) finish_gate(m, s[b], l, slot, gated_code(m, s[b], place));
}

// Adds a layer's output, but for its bias, to the residual stream.
static void residual_layer(const WaveNetModel& m, const WaveNetScratch* s, int count, int l,
                           int place) {
  Columns c;
  for (int b = 0; b < count; ++b) {
    c.x[b] = gated_code(m, s[b], place);
    c.start[b] = c.y[b] = s[b].stream;
  }
  product(m.residual_mix[l], c.operands(count), count, kWhole);
}

// Adds a layer's output to the skip sum.
static void skip_layer(const WaveNetModel& m, const WaveNetScratch* s, int count, int l,
                       int place) {
  Columns c;
  for (int b = 0; b < count; ++b) {
    c.x[b] = gated_code(m, s[b], place);
    c.start[b] = c.y[b] = s[b].skip;
  }
  product(m.skip_mix[l], c.operands(count), count, kWhole);
}

// What the trunk gives to every head of the bunch.
static void head_layer(const WaveNetModel& m, const WaveNetScratch* s, int count) {
  Columns c;
  for (int b = 0; b < count; ++b) {
    encode_inputs(m.bunch_head, s[b].skip, m.skipP, s[b].skip_code);
    c.x[b] = s[b].skip_code;
    c.start[b] = m.bunch_bias;
    c.y[b] = s[b].heads;
  }
  product(m.bunch_head, c.operands(count), count, kWhole);
}

// Runs the trunk for one bunch of every stream; leaves the heads' part of it in `heads`. The skip
// product of a layer comes after the gate of the next one: the processor works on it while it waits
// for that gate.
static void trunk(const WaveNetModel& m, const WaveNetScratch* s, int count, const Step& step) {
  input_layer(m, s, count);
  for (int b = 0; b < count; ++b) begin_skip(m, s[b]);
  ptrdiff_t queue = 0;
  for (int l = 0; l < m.layers; ++l) {
    for (int b = 0; b < count; ++b) enter_layer(m, s[b], l);
    gate_layer(m, s, count, l, l & 1, queue, step);
    if (l > 0) skip_layer(m, s, count, l - 1, (l - 1) & 1);
    if (l + 1 < m.layers) residual_layer(m, s, count, l, l & 1);
    queue += static_cast<ptrdiff_t>(m.dilations[l]) * queue_width(m);
  }
  skip_layer(m, s, count, m.layers - 1, (m.layers - 1) & 1);
  head_layer(m, s, count);
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
    product(m, {in, nullptr, in, out, nullptr, 0, 0}, 1, kFirst);
  }
}
