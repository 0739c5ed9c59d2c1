// One stream on two threads, after the paper: the main thread goes through the layers and the
// draws; its partner follows one layer behind, adds up the skip products and multiplies their sum
// by the matrix of the bunch. Where dilations are long, the partner also prepares past halves, at
// the beginning of a step, while the main thread draws and the first gates are not there yet. Each
// core's cache holds its own thread's weights. Included inside the instruction set's namespace,
// after wavenet_body.hpp.
//
// The main thread waits once a step, and not for long: when the partner seems asleep it does the
// rest of the frame by itself, in memory that the partner never writes to, and asks again at the
// next frame. (What a relieved partner still reads may be half written; nothing of it is used.) The
// sums are those of one thread, bit for bit.

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

// ---- The partner.

static inline bool relieved(const WaveNetPair& pair, int64_t order) {
  return seen(&pair.order) != order;
}

// One turn of a wait. Giving way may cost milliseconds on a busy machine, so that comes late.
static inline void linger(const WaveNetPair& pair, int64_t turn) {
  constexpr int kPatientTurns = 1 << 16;  // 1 to 2 ms
  relax();
  if (turn > kPatientTurns) pair.give_way();
}

// Waits for a gate; false when there is another order.
static inline bool await_gate(const WaveNetPair& pair, int64_t order, int64_t gates) {
  for (int64_t turn = 0; seen(&pair.gated) < gates; ++turn) {
    if (relieved(pair, order)) return false;
    linger(pair, turn);
  }
  return true;
}

// Whether the partner makes a layer's past halves: where their inputs are known a whole group of
// steps before the group in which they are wanted, and groups do not cross the ends of frames.
static inline bool is_far(const WaveNetModel& m, int l) {
  return m.dilations[l] >= 2 * kPastColumns && m.hop / m.bunch % kPastColumns == 0;
}

// Where the past half of a far layer at step n lies.
static inline float* far_half(const WaveNetModel& m, const WaveNetPair& pair, int l, int64_t n) {
  const int64_t place = static_cast<int64_t>(l) * 2 * kPastColumns + n % (2 * kPastColumns);
  return pair.partial + place * 2 * m.residualP;
}

// Makes, at step n, a share of the past halves of the next group of steps. The main thread does not
// write to the slots that this reads until it is told that step n is done.
static void far_halves(const WaveNetModel& m, const WaveNetScratch& s, const WaveNetPair& pair,
                       int64_t n) {
  const int64_t share = n % kPastColumns, first = n - share + kPastColumns;
  ptrdiff_t queue = 0;
  int number = 0;  // of far layers
  for (int l = 0; l < m.layers; ++l) {
    const int d = m.dilations[l];
    if (is_far(m, l) && number++ % kPastColumns == share) {
      Columns c;
      for (int i = 0; i < kPastColumns; ++i) {
        const ptrdiff_t slot = queue + (first + i) % d * queue_width(m);
        c.x[i] = reinterpret_cast<const float*>(s.queues + slot);
        c.start[i] = pair.cond + static_cast<ptrdiff_t>(l) * 2 * m.residualP;
        c.partial[i] = far_half(m, pair, l, first + i);
      }
      product(m.gate[l], c.operands(), kPastColumns, kFirst);
    }
    queue += static_cast<ptrdiff_t>(d) * queue_width(m);
  }
}

static void assist(const WaveNetModel& m, const WaveNetScratch& s, const WaveNetRun& run,
                   WaveNetPair* pair, int64_t order) {
  WaveNetScratch own = s;
  own.cond = pair->cond;
  own.skip = pair->skip;
  own.skip_code = pair->skip_code;
  const int64_t halves = static_cast<int64_t>(2) * m.layers * m.residual,
                channels = halves + m.skip;
  const int64_t steps_a_frame = m.hop / m.bunch, end = run.frames * steps_a_frame;
  int64_t loaded = -1;  // frame whose conditioning is in own.cond
  for (int64_t n = pair->first; n < end; ++n) {
    const int64_t wanted = (n / kPastColumns + 1) * kPastColumns / steps_a_frame;
    if (wanted < run.frames) {
      if (loaded != wanted) load_conditioning(m, own, run.cond + wanted * channels);
      loaded = wanted;
      far_halves(m, s, *pair, n);
    }
    copy(run.cond + n / steps_a_frame * channels + halves, m.skip, own.skip);
    for (int i = m.skip; i < m.skipP; ++i) own.skip[i] = 0.0f;
    for (int l = 0; l < m.layers; ++l) {
      if (!await_gate(*pair, order, n * m.layers + l + 1)) return;
      skip_layer(m, &own, 1, l, l);
    }
    own.heads = pair->heads[n & 1];
    head_layer(m, &own, 1);
    publish(&pair->done, n + 1);
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
    for (int64_t turn = 0; !relieved(*pair, order); ++turn) linger(*pair, turn);
  }
}

// ---- The main thread.

struct MainThread {
  WaveNetPair* pair;
  bool paired;    // the partner is at work
  int64_t order;  // the last one given
};

// Waits until the partner has done `steps`; relieves it when that takes too long.
static inline bool await_partner(MainThread* t, int64_t steps) {
  if (!t->paired) return false;
  for (int turn = 0; seen(&t->pair->done) < steps; ++turn) {
    if (turn >= t->pair->patience) {
      t->paired = false;
      publish(&t->pair->order, ++t->order);
      return false;
    }
    relax();
  }
  return true;
}

// Asks for the past half of layer l at step n, which lies in the other core's cache.
static inline void fetch_far_half(const WaveNetModel& m, const WaveNetPair& pair, int l,
                                  int64_t n) {
  if (l == m.layers || !is_far(m, l)) return;
  const float* const from = far_half(m, pair, l, n);
  for (int i = 0; i < 2 * m.residualP; i += kBlock) __builtin_prefetch(from + i);
}

// gate_layer for a far layer, with the partner's past half or, where that is null, with both taps.
static void far_gate(const WaveNetModel& m, const WaveNetScratch& s, int l, ptrdiff_t slot,
                     float* partial) {
  Columns c;
  c.x[0] = reinterpret_cast<const float*>(s.queues + slot);
  c.x2[0] = s.stream_code;
  c.start[0] = s.cond + static_cast<ptrdiff_t>(l) * 2 * m.residualP;
  c.partial[0] = partial;
  c.y[0] = s.gate;
  product(m.gate[l], c.operands(), 1, partial == nullptr ? kWhole : kSecond);
  finish_gate(m, s, l, slot, gated_code(m, s, l));
}

// Runs the trunk for one bunch, as `trunk` does. Returns the working memory whose `heads` hold it.
static WaveNetScratch trunk_of_pair(const WaveNetModel& m, const WaveNetScratch& s, MainThread* t,
                                    int64_t n, const Step& step) {
  const WaveNetPair& pair = *t->pair;
  const bool prepared = t->paired && n >= pair.first + kPastColumns;
  input_layer(m, &s, 1);
  ptrdiff_t queue = 0;
  for (int l = 0; l < m.layers; ++l) {
    enter_layer(m, s, l);
    if (prepared) fetch_far_half(m, pair, l + 1, n);
    if (is_far(m, l)) {
      const ptrdiff_t slot = queue + static_cast<ptrdiff_t>(step.slots[l]) * queue_width(m);
      far_gate(m, s, l, slot, prepared ? far_half(m, pair, l, n) : nullptr);
    } else {
      gate_layer(m, &s, 1, l, l, queue, step);
    }
    publish(&t->pair->gated, n * m.layers + l + 1);
    if (l + 1 < m.layers) residual_layer(m, &s, 1, l, l);
    queue += static_cast<ptrdiff_t>(m.dilations[l]) * queue_width(m);
  }
  WaveNetScratch result = s;
  if (await_partner(t, n + 1)) {
    result.heads = t->pair->heads[n & 1];
    ++t->pair->paired;
    return result;
  }
  begin_skip(m, s);
  for (int l = 0; l < m.layers; ++l) skip_layer(m, &s, 1, l, l);
  head_layer(m, &s, 1);
  return result;
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
      pair->first = pair->done = n;  // what the partner did before it paused does not count
      t.paired = true;
      publish(&pair->order, ++t.order);
    }
    for (int i = 0; i < step.steps_a_frame; ++i, ++n, advance(m, &step)) {
      gather_inputs(m, *s, run.pulse + n * 2 * m.harmonics);
      WaveNetScratch with_heads = trunk_of_pair(m, *s, &t, n, step);
      bunch(m, &with_heads, &run, 1, f, n * m.bunch);
      s->output = with_heads.output;
    }
  }
  publish(&pair->order, kPairDone);
  save_state(m, *s, run);
}
