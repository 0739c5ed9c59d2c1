// One stream on two threads, as the paper has it: the main thread goes through the layers (input,
// current half of each gate, residual products) and the draws; its partner adds up the skip
// products one layer behind and prepares the past halves of the next step meanwhile. Included
// inside the instruction set's namespace, after wavenet_body.hpp.
//
// The main thread waits at two places, for a past half and for the skip sum, and not for long: when
// the partner seems asleep it does the rest of the frame by itself, from memory that the partner
// never writes to, and asks again at the next frame. (What a relieved partner still reads may be
// half written; nothing of it is used.) The sums are those of one thread, bit for bit.

static inline void publish(int64_t* number, int64_t value) {
  __atomic_store_n(number, value, __ATOMIC_RELEASE);
}
static inline int64_t seen(const int64_t* number) {
  return __atomic_load_n(number, __ATOMIC_ACQUIRE);
}
static inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The steps that share a pass over the weights of a past half begin at different steps of the frame
// in each layer, so that the work is spread.
struct PastGroup {
  int column;  // of this step
  int steps;   // that begin here if the column is 0
};

static inline PastGroup past_group(const WaveNetModel& m, int l, int in_frame, int steps_a_frame) {
  const int group = m.dilations[l] < kPastColumns ? m.dilations[l] : kPastColumns;
  const int turn = (in_frame + l) % group;
  const int left = steps_a_frame - in_frame;
  return {in_frame < turn ? in_frame : turn, group - turn < left ? group - turn : left};
}

// ---- The partner.

static inline bool relieved(const WaveNetPair& pair, int64_t order) {
  return seen(&pair.order) != order;
}

// Waits for a gate; false when there is another order.
static inline bool await_gate(const WaveNetPair& pair, int64_t order, int64_t gates) {
  for (int turn = 0; seen(&pair.gated) < gates; ++turn) {
    if (relieved(pair, order)) return false;
    relax();
    if (turn > pair.patience) pair.give_way();
  }
  return true;
}

static bool prepare_past(const WaveNetModel& m, const WaveNetScratch& own, WaveNetPair* pair,
                         int64_t order, int64_t number, const Step& step) {
  ptrdiff_t queue = 0;
  for (int l = 0; l < m.layers; ++l) {
    if (relieved(*pair, order)) return false;
    const PastGroup group = past_group(m, l, step.in_frame, step.steps_a_frame);
    if (group.column == 0) past_halves(m, &own, 1, l, queue, step, group.steps);
    publish(&pair->past, number * m.layers + l + 1);
    queue += static_cast<ptrdiff_t>(m.dilations[l]) * queue_width(m);
  }
  return true;
}

static void assist(const WaveNetModel& m, const WaveNetScratch& s, const WaveNetRun& run,
                   WaveNetPair* pair, int64_t order) {
  WaveNetScratch own = s;
  own.partial = pair->partial;
  const int64_t channels = static_cast<int64_t>(2) * m.layers * m.residual + m.skip;
  Step step{};
  step.steps_a_frame = m.hop / m.bunch;
  const int64_t first = pair->first, end = run.frames * step.steps_a_frame;
  for (int l = 0; l < m.layers; ++l) step.slots[l] = static_cast<int>(first % m.dilations[l]);
  for (int64_t number = first; number < end; ++number) {
    const int64_t frame = number / step.steps_a_frame;
    own.cond = pair->cond[frame & 1];
    if (step.in_frame == 0) load_conditioning(m, own, run.cond + frame * channels);
    if (!prepare_past(m, own, pair, order, number, step)) return;
    own.skip = pair->skip[number & 1];
    begin_skip(m, own);
    for (int l = 0; l < m.layers; ++l) {
      if (!await_gate(*pair, order, number * m.layers + l + 1)) return;
      skip_layer(m, &own, 1, l, l);
    }
    publish(&pair->summed, number + 1);
    advance(m, &step);
  }
}

static void wavenet_partner(const WaveNetModel& m, const WaveNetScratch& s, const WaveNetRun& run,
                            WaveNetPair* pair) {
  for (;;) {
    const int64_t order = seen(&pair->order);
    if (order == kPairDone) return;
    if (order % 2 == 0) {
      assist(m, s, run, pair, order);
    } else {
      publish(&pair->paused, order);
    }
    while (!relieved(*pair, order)) {
      relax();
      pair->give_way();
    }
  }
}

// ---- The main thread.

struct MainThread {
  WaveNetPair* pair;
  bool paired;    // the partner is at work
  int64_t order;  // the last one given
};

// Waits until `number` reaches `value`; relieves the partner when that takes too long.
static inline bool await_partner(MainThread* t, const int64_t* number, int64_t value) {
  if (!t->paired) return false;
  for (int turn = 0; seen(number) < value; ++turn) {
    if (turn >= t->pair->patience) {
      t->paired = false;
      publish(&t->pair->order, ++t->order);
      return false;
    }
    relax();
  }
  return true;
}

static void gate_of_pair(const WaveNetModel& m, const WaveNetScratch& s, MainThread* t, int64_t n,
                         int l, ptrdiff_t queue, const Step& step, int64_t frame) {
  const ptrdiff_t width = 2 * m.residualP;
  const ptrdiff_t slot = queue + static_cast<ptrdiff_t>(step.slots[l]) * queue_width(m);
  Columns c;
  c.x[0] = reinterpret_cast<const float*>(s.queues + slot);
  c.x2[0] = s.stream_code;
  c.start[0] = s.cond + l * width;
  c.y[0] = s.gate;
  if (await_partner(t, &t->pair->past, n * m.layers + l + 1)) {
    const int column = past_group(m, l, step.in_frame, step.steps_a_frame).column;
    c.start[0] = t->pair->cond[frame & 1] + l * width;
    c.partial[0] = t->pair->partial + (static_cast<ptrdiff_t>(l) * kPastColumns + column) * width;
    product(m.gate[l], c.operands(), 1, kSecond);
  } else {
    product(m.gate[l], c.operands(), 1, kWhole);
  }
  finish_gate(m, s, l, slot, gated_code(m, s, l));
  publish(&t->pair->gated, n * m.layers + l + 1);
}

// Runs the trunk for one bunch, as `trunk` does.
static void trunk_of_pair(const WaveNetModel& m, const WaveNetScratch& s, MainThread* t, int64_t n,
                          const Step& step, int64_t frame) {
  input_layer(m, &s, 1);
  ptrdiff_t queue = 0;
  for (int l = 0; l < m.layers; ++l) {
    encode_inputs(m.gate[l], s.stream, m.residualP, s.stream_code);
    gate_of_pair(m, s, t, n, l, queue, step, frame);
    if (l + 1 < m.layers) residual_layer(m, &s, 1, l, l);
    queue += static_cast<ptrdiff_t>(m.dilations[l]) * queue_width(m);
  }
  if (await_partner(t, &t->pair->summed, n + 1)) {
    WaveNetScratch summed = s;
    summed.skip = t->pair->skip[n & 1];
    head_layer(m, &summed, 1);
    ++t->pair->paired;
    return;
  }
  begin_skip(m, s);
  for (int l = 0; l < m.layers; ++l) skip_layer(m, &s, 1, l, l);
  head_layer(m, &s, 1);
}

// What `wavenet` does for one stream. `pair` begins with the order 1, to pause.
static void wavenet_pair(const WaveNetModel& m, WaveNetScratch* s, const WaveNetRun& run,
                         WaveNetPair* pair) {
  load_state(m, s, run);
  MainThread t = {pair, false, 1};
  const int64_t channels = static_cast<int64_t>(2) * m.layers * m.residual + m.skip;
  Step step{};
  step.steps_a_frame = m.hop / m.bunch;
  int64_t n = 0;
  for (int64_t f = 0; f < run.frames; ++f) {
    load_frame(m, *s, run.cond + f * channels, run.lpc + f * m.lpc_order);
    if (!t.paired && seen(&pair->paused) == t.order) {
      pair->first = pair->summed = n;  // what the partner did before it paused does not count
      pair->past = n * m.layers;
      t.paired = true;
      publish(&pair->order, ++t.order);
    }
    for (int i = 0; i < step.steps_a_frame; ++i, ++n, advance(m, &step)) {
      gather_inputs(m, *s, run.pulse + n * 2 * m.harmonics);
      trunk_of_pair(m, *s, &t, n, step, f);
      bunch(m, s, &run, 1, f, n * m.bunch);
    }
  }
  publish(&pair->order, kPairDone);
  save_state(m, *s, run);
}
