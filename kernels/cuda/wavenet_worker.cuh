// One block of a cluster: its stage of every step, for one group of streams after another.
#pragma once

#include "math.cuh"
#include "wavenet_draw.cuh"
#include "wavenet_product.cuh"

namespace dv::cuda {

template <class T>
DV_DEVICE float seen(float value) {  // what a matrix sees of its input
  return value;
}
template <>
DV_DEVICE float seen<Bfloat>(float value) {
  return round_to_bfloat(value);
}

// Draws stay in float32 where the large matrices are in bfloat16.
template <class T>
struct DrawStorage {
  using Type = T;
};
template <>
struct DrawStorage<Bfloat> {
  using Type = float;
};

template <class T, int kColumns>
struct Worker {
  using Place_ = Operand<kColumns>;
  using Draws = typename DrawStorage<T>::Type;

  const WaveNetArguments& a;
  const WaveNetDimensions& z;
  const Layout& layout;
  unsigned char* const memory;
  int group = 0;
  int64_t number = 0;  // of the tick

  DV_DEVICE explicit Worker(const WaveNetArguments& arguments)
      : a(arguments), z(arguments.sizes), layout(arguments.layout), memory(shared_memory()) {}

  DV_DEVICE float* floats(int offset) const { return reinterpret_cast<float*>(memory + offset); }
  DV_DEVICE const Stage& stage() const {
    return *reinterpret_cast<const Stage*>(memory + layout.stage);
  }
  DV_DEVICE Slot& slot(int column) const {
    return reinterpret_cast<Slot*>(memory + layout.slots)[group * kColumns + column];
  }
  DV_DEVICE float* inbox(int64_t tick) const {
    return floats(layout.inbox) + (tick & 1) * layout.inbox_floats;
  }
  DV_DEVICE float* hidden() const { return inbox(number); }  // [residualP][columns]
  DV_DEVICE float* skip() const {                            // [skipP][columns]
    return inbox(number) + z.residualP * kColumns;
  }
  DV_DEVICE float* history(int column, int kind) const {  // kinds: see `remember`
    return floats(layout.history) + ((group * kColumns + column) * 4 + kind) * z.ring;
  }
  DV_DEVICE int ring_entry(const Slot& s, int sample) const {  // counted from the step's first one
    const int at = s.position + sample;
    return at < 0 ? at + z.ring : at >= z.ring ? at - z.ring : at;
  }
  template <class W>
  DV_DEVICE const W* matrix(const Place& place) const {
    const unsigned char* const base =
        place.resident != 0 ? memory + layout.weights : a.weights + stage().weights;
    return reinterpret_cast<const W*>(base + place.offset);
  }
  DV_DEVICE const float* vector(int offset) const {
    return matrix<float>(Place{offset, stage().resident_vectors});
  }

  // Copies what stays here for the whole launch.
  DV_DEVICE void load() const {
    const int rank = cluster_rank(), threads = thread_count();
    const auto* const from = reinterpret_cast<const int*>(a.stages + rank);
    auto* const to = reinterpret_cast<int*>(memory + layout.stage);
    for (int i = thread_index(); i < static_cast<int>(sizeof(Stage) / sizeof(int)); i += threads)
      to[i] = read_only(from + i);
    const int zeroed[][2] = {{layout.input, z.inputP * kColumns},
                             {layout.past, (layout.current - layout.past) / 4},
                             {layout.draw, z.drawP * kColumns}};
    DV_UNROLL
    for (int k = 0; k < 3; ++k) {  // padding of operands stays zero
      for (int i = thread_index(); i < zeroed[k][1]; i += threads) floats(zeroed[k][0])[i] = 0.0f;
    }
    const int cluster = block_index() / cluster_size();
    for (int i = thread_index(); i < a.groups * kColumns; i += threads) {
      Slot& s = reinterpret_cast<Slot*>(memory + layout.slots)[i];
      const int* const range = a.slot_pieces + cluster * a.groups * kColumns + i;
      s.next = range[0];
      s.last = range[1];
      s.active = 0;
      s.step = s.steps = 0;
    }
    block_barrier();
    const auto* const weights = reinterpret_cast<const Float4*>(a.weights + stage().weights);
    auto* const resident = reinterpret_cast<Float4*>(memory + layout.weights);
    for (int i = thread_index(); i < stage().resident_bytes / 16; i += threads)
      resident[i] = weights[i];
  }

  // Moves a stream on by a step; at the end of a piece the slot takes its next one.
  DV_DEVICE void advance(Slot& s) const {
    if (s.active != 0 && s.step + 1 < s.steps) {
      ++s.step;
    } else if (s.next < s.last) {
      s.piece = a.pieces[s.next++];
      s.active = 1;
      s.step = 0;
      s.steps = s.piece.frames * (z.hop / z.bunch);
    } else {
      s.active = 0;
    }
    if (s.active == 0) return;
    const int64_t frame = s.step / (z.hop / z.bunch);
    s.cond = s.piece.cond + frame * z.conditioning;
    s.lpc = s.piece.lpc + frame * z.lpc_order;
    s.temperature = s.piece.temperature == nullptr ? 1.0f : s.piece.temperature[frame];
    s.position = static_cast<int>((z.past + s.step * z.bunch) % z.ring);
  }

  // Calls f(row, column) for all rows of all streams, shared out among the threads.
  template <class F>
  DV_DEVICE void for_all(int rows, F f) const {
    for (int i = thread_index(); i < rows * kColumns; i += thread_count())
      f(i / kColumns, i % kColumns);
  }
  // The same with neighbouring threads at neighbouring rows, for arrays of a stream's own.
  template <class F>
  DV_DEVICE void for_all_rows(int rows, F f) const {
    for (int i = thread_index(); i < rows * kColumns; i += thread_count()) f(i % rows, i / rows);
  }

  DV_DEVICE void load_history() const {
    for_all_rows(z.past, [&](int i, int column) {
      const Slot& s = slot(column);
      if (s.active == 0 || s.step != 0) return;
      const float x = s.piece.signal[i], e = s.piece.residual[i];
      history(column, 0)[i] = x;
      history(column, 1)[i] = compress(x);
      history(column, 2)[i] = e;
      history(column, 3)[i] = compress(e);
      // Otherwise the block that draws the first sample has handed on what comes after it.
      if (i == 0 && stage().first_sample == 0)
        floats(layout.output)[group * kColumns + column] = *s.piece.output;
    });
  }

  DV_DEVICE void save_history() const {
    for_all_rows(z.past, [&](int i, int column) {
      const Slot& s = slot(column);
      if (s.active == 0 || s.step + 1 != s.steps) return;
      const int at = ring_entry(s, z.bunch - z.past + i);
      s.piece.signal[i] = history(column, 0)[at];
      s.piece.residual[i] = history(column, 2)[at];
      if (i == 0) *s.piece.output = floats(layout.output)[group * kColumns + column];
    });
  }

  DV_DEVICE float compress(float x) const { return compand(x, z.code_scale, z.mu, z.unit); }

  DV_DEVICE float* queue(const Slot& s,
                         int layer) const {  // where the layer's input of d steps ago is
    const int d = z.dilations[layer];
    const int64_t row = z.queue_rows[layer] + (s.piece.queue_step + s.step) % d;
    return s.piece.queues + row * z.residual;
  }

  // The past inputs of the layers from this one on, as many as there is room for.
  DV_DEVICE void gather_past(int layer) const {
    for (int l = 0; l < layout.past_layers && layer + l < stage().last_layer; ++l) {
      float* const past = floats(layout.past) + l * z.residualP * kColumns;
      for_all_rows(z.residual, [&](int r, int column) {
        const Slot& s = slot(column);
        if (s.active != 0) past[Place_::at(r, column)] = seen<T>(queue(s, layer + l)[r]);
      });
    }
  }

  // What a step needs and has nobody to wait for.
  DV_DEVICE void gather() const {
    const int layers = stage().last_layer - stage().first_layer;
    gather_past(stage().first_layer);
    const int samples = stage().last_sample - stage().first_sample;
    for_all(samples, [&](int i, int column) {
      const Slot& s = slot(column);
      if (s.active == 0 || s.piece.given != nullptr) return;
      const int64_t t = s.step * z.bunch + stage().first_sample + i;
      floats(layout.uniforms)[i * kColumns + column] =
          s.piece.uniforms != nullptr
              ? s.piece.uniforms[t]
              : random_uniform(s.piece.seed, s.piece.sentence,
                               s.piece.first_sample + static_cast<uint64_t>(t));
    });
    if (stage().has_input != 0) {
      gather_inputs();
    } else if (layers > 0) {
      for_all(z.residualP, [&](int r, int column) {
        floats(layout.current)[Place_::at(r, column)] = seen<T>(hidden()[r * kColumns + column]);
      });
    }
  }

  DV_DEVICE void gather_inputs() const {
    const int M = z.history, Q2 = 2 * z.harmonics;
    for_all_rows(3 * M + Q2, [&](int i, int column) {
      const Slot& s = slot(column);
      if (s.active == 0) return;
      const int view = i / M, at = ring_entry(s, i % M - M);
      const float value = view == 0   ? z.signal_gain * history(column, 0)[at]
                          : view == 1 ? history(column, 1)[at]
                          : view == 2 ? history(column, 3)[at]
                                      : s.piece.pulse[s.step * Q2 + i - 3 * M];
      floats(layout.input)[Place_::at(i, column)] = seen<T>(value);
    });
    for_all(z.skipP, [&](int r, int column) {
      const Slot& s = slot(column);
      skip()[r * kColumns + column] =
          s.active != 0 && r < z.skip ? s.cond[z.conditioning - z.skip + r] : 0.0f;
    });
  }

  DV_DEVICE void input_layer() const {
    const float* const bias = vector(stage().input_bias);
    float* const h = hidden();
    float* const current = floats(layout.current);
    product<T, kColumns>(
        matrix<T>(stage().input), z.residualP / kTile,
        Vectors{floats(layout.input), z.inputP / kTile, nullptr, 0},
        [&](int tile, int r, int) {
          return Float2{{bias[tile * kTile + r], bias[tile * kTile + r + 8]}};
        },
        [&](int tile, int r, int column, float low, float high) {
          const float values[2] = {tanh_of(low), tanh_of(high)};
          DV_UNROLL
          for (int k = 0; k < 2; ++k) {
            const int row = tile * kTile + r + 8 * k;
            h[row * kColumns + column] = values[k];
            current[Place_::at(row, column)] = seen<T>(values[k]);
          }
        });
  }

  // A tile of the gate has 8 rows of the tanh half, then the same 8 of the sigmoid half.
  DV_DEVICE void gate_layer(int layer) const {
    const int R = z.residual, chunks = z.residualP / kTile;
    const int fetched = (layer - stage().first_layer) % layout.past_layers;
    const float* const past = floats(layout.past) + fetched * z.residualP * kColumns;
    const float* const current = floats(layout.current);
    float* const gate = floats(layout.gated);
    product<T, kColumns>(
        matrix<T>(stage().gate[layer]), z.residualP / 8, Vectors{past, chunks, current, chunks},
        [&](int tile, int r, int column) {
          const Slot& s = slot(column);
          const int row = tile * 8 + r;
          if (s.active == 0 || row >= R) return Float2{{0.0f, 0.0f}};
          const float* const cond = s.cond + layer * 2 * R + row;
          return Float2{{read_only(cond), read_only(cond + R)}};
        },
        [&](int tile, int r, int column, float low, float high) {
          gate[Place_::at(tile * 8 + r, column)] = seen<T>(gated(low, high));
        });
    for_all_rows(R, [&](int r, int column) {
      const Slot& s = slot(column);
      if (s.active != 0) queue(s, layer)[r] = current[Place_::at(r, column)];
    });
  }

  // The residual stream and the skip sum take a layer's output, one matrix for both.
  DV_DEVICE void mix_layer(int layer) const {
    const int residual_tiles = layer + 1 < z.layers ? z.residualP / kTile : 0;
    const float* const bias = vector(stage().residual_bias[layer]);
    float* const h = hidden();
    float* const sum = skip();
    float* const current = floats(layout.current);
    product<T, kColumns>(
        matrix<T>(stage().mix[layer]), residual_tiles + z.skipP / kTile,
        Vectors{floats(layout.gated), z.residualP / kTile, nullptr, 0},
        [&](int tile, int r, int column) {
          if (tile < residual_tiles) {
            const int row = tile * kTile + r;
            return Float2{{h[row * kColumns + column] + bias[row],
                           h[(row + 8) * kColumns + column] + bias[row + 8]}};
          }
          const int row = (tile - residual_tiles) * kTile + r;
          return Float2{{sum[row * kColumns + column], sum[(row + 8) * kColumns + column]}};
        },
        [&](int tile, int r, int column, float low, float high) {
          const float values[2] = {low, high};
          DV_UNROLL
          for (int k = 0; k < 2; ++k) {
            if (tile < residual_tiles) {
              const int row = tile * kTile + r + 8 * k;
              h[row * kColumns + column] = values[k];
              current[Place_::at(row, column)] = seen<T>(values[k]);
            } else {
              sum[((tile - residual_tiles) * kTile + r + 8 * k) * kColumns + column] = values[k];
            }
          }
        });
  }

  // Hands the residual stream and the skip sum to the next block, into the inbox of its next tick.
  DV_DEVICE void forward() const {
    float* const to = remote(inbox(number + 1), cluster_rank() + 1);
    const float* const from = inbox(number);
    for (int i = thread_index(); i < layout.inbox_floats; i += thread_count()) to[i] = from[i];
  }

  DV_DEVICE void rectify() const {
    float* const rectified = floats(layout.rectified);
    for_all(z.skipP, [&](int r, int column) {
      rectified[Place_::at(r, column)] = seen<T>(fmaxf(skip()[r * kColumns + column], 0.0f));
    });
  }

  // The heads' part of the trunk, of the samples from this one on, as many as there is room for.
  DV_DEVICE void bunch_layer(int sample) const {
    const int local = sample - stage().first_sample, left = stage().last_sample - sample;
    const int samples = left < layout.head_samples ? left : layout.head_samples;
    const float* const bias = vector(stage().bunch_bias) + local * z.headP;
    float* const heads = floats(layout.heads);
    product<T, kColumns>(
        matrix<T>(stage().bunch) + static_cast<int64_t>(local) * z.headP * z.skipP,
        samples * z.headP / kTile, Vectors{floats(layout.rectified), z.skipP / kTile, nullptr, 0},
        [&](int tile, int r, int) {
          return Float2{{bias[tile * kTile + r], bias[tile * kTile + r + 8]}};
        },
        [&](int tile, int r, int column, float low, float high) {
          heads[(tile * kTile + r) * kColumns + column] = low;
          heads[(tile * kTile + r + 8) * kColumns + column] = high;
        });
  }

  // The inputs of a head: prediction, prediction companded, three histories. One warp a stream.
  DV_DEVICE void prepare_draw(int sample, int column) const {
    Slot& s = slot(column);
    float sum = 0.0f;
    for (int k = lane_index(); k < z.lpc_order; k += kWarp)
      sum = fused(s.lpc[k], history(column, 0)[ring_entry(s, sample - 1 - k)], sum);
    const float prediction = over_lanes(sum, total);
    const int J = z.head_history;
    for (int i = lane_index(); i < 2 + 3 * J; i += kWarp) {
      const int view = (i - 2) / J, at = i < 2 ? 0 : ring_entry(s, sample - J + (i - 2) % J);
      const float value = i == 0      ? z.signal_gain * prediction
                          : i == 1    ? compress(prediction)
                          : view == 0 ? z.signal_gain * history(column, 0)[at]
                          : view == 1 ? history(column, 1)[at]
                                      : history(column, 3)[at];
      floats(layout.draw)[Place_::at(i, column)] = value;
    }
    if (lane_index() == 0) s.prediction = prediction;
  }

  DV_DEVICE void draw_layer(int sample) const {
    const int local = (sample - stage().first_sample) % layout.head_samples;
    const float* const heads = floats(layout.heads) + local * z.headP * kColumns;
    float* const out = floats(layout.hidden);
    product<Draws, kColumns>(
        matrix<Draws>(stage().draw[sample]), z.headP / kTile,
        Vectors{floats(layout.draw), z.drawP / kTile, nullptr, 0},
        [&](int tile, int r, int column) {
          const float* const head = heads + (tile * kTile + r) * kColumns + column;
          return Float2{{head[0], head[8 * kColumns]}};
        },
        [&](int tile, int r, int column, float low, float high) {
          out[Place_::at(tile * kTile + r, column)] = seen<T>(fmaxf(low, 0.0f));
          out[Place_::at(tile * kTile + r + 8, column)] = seen<T>(fmaxf(high, 0.0f));
        });
  }

  DV_DEVICE void output_layer() const {
    const float* const bias = vector(stage().output_bias);
    float* const logits = floats(layout.logits);
    product<T, kColumns>(
        matrix<T>(stage().output), z.levelsP / kTile,
        Vectors{floats(layout.hidden), z.headP / kTile, nullptr, 0},
        [&](int tile, int r, int) {
          return Float2{{bias[tile * kTile + r], bias[tile * kTile + r + 8]}};
        },
        [&](int tile, int r, int column, float low, float high) {
          logits[column * z.levelsP + tile * kTile + r] = low;
          logits[column * z.levelsP + tile * kTile + r + 8] = high;
        });
  }

  // Draws a code and turns it into a sample. One warp a stream.
  DV_DEVICE void draw(int sample, int column) const {
    const Slot& s = slot(column);
    const int64_t t = s.step * z.bunch + sample;
    const float* const logits = floats(layout.logits) + column * z.levelsP;
    float scaled[kLaneLevels];
    DV_UNROLL
    for (int j = 0; j < kLaneLevels; ++j) {
      const int level = lane_index() * kLaneLevels + j;
      scaled[j] = -1e30f;
      if (level >= z.levels) continue;
      if (s.piece.logits != nullptr) s.piece.logits[t * z.levels + level] = logits[level];
      scaled[j] = logits[level] / s.temperature;
    }
    const int local = (sample - stage().first_sample) * kColumns + column;
    const int code =
        s.piece.given != nullptr
            ? s.piece.given[t]
            : draw_level(scaled, z.levels, floats(layout.uniforms)[local], s.piece.floor);
    const float e = vector(stage().amplitudes)[code];
    const float x = fminf(fmaxf(s.prediction + e, -kSignalLimit), kSignalLimit);
    float* const output = floats(layout.output) + group * kColumns + column;
    const float heard = x + z.pre_emphasis * *output;
    warp_barrier();  // all have read what is written now
    if (lane_index() == 0) {
      s.piece.samples[t] = heard;
      if (s.piece.codes != nullptr) s.piece.codes[t] = static_cast<uint8_t>(code);
    }
    remember(s, sample, column, {{x, compress(x), e, compress(e)}}, heard);
  }

  // Writes a sample into the histories of every block that keeps them, a lane a block.
  DV_DEVICE void remember(const Slot& s, int sample, int column, const Float4& kinds,
                          float heard) const {
    const int rank = lane_index();
    if (rank < cluster_size() && (stage().history_ranks >> rank & 1u) != 0) {
      float* const entry = remote(history(column, 0) + ring_entry(s, sample), rank);
      DV_UNROLL
      for (int k = 0; k < 4; ++k) entry[k * z.ring] = kinds.x[k];
      *remote(floats(layout.output) + group * kColumns + column, rank) = heard;
    }
    warp_barrier();
  }

  DV_DEVICE void head() const {
    rectify();
    block_barrier();
    for (int sample = stage().first_sample; sample < stage().last_sample; ++sample) {
      for (int column = warp_index(); column < kColumns; column += warp_count()) {
        if (slot(column).active == 0) continue;
        if (sample > stage().first_sample) draw(sample - 1, column);
        prepare_draw(sample, column);
      }
      if ((sample - stage().first_sample) % layout.head_samples == 0) bunch_layer(sample);
      block_barrier();
      draw_layer(sample);
      block_barrier();
      output_layer();
      block_barrier();
    }
    for (int column = warp_index(); column < kColumns; column += warp_count())
      if (slot(column).active != 0) draw(stage().last_sample - 1, column);
    if (stage().last_sample < z.bunch) return;
    block_barrier();
    save_history();
  }

  DV_DEVICE void visit() const {
    if (thread_index() < kColumns) advance(slot(thread_index()));
    block_barrier();
    if (stage().has_history != 0) {
      load_history();
      block_barrier();
    }
    gather();
    block_barrier();
    if (stage().has_input != 0) {
      input_layer();
      block_barrier();
    }
    for (int layer = stage().first_layer; layer < stage().last_layer; ++layer) {
      const int local = layer - stage().first_layer;
      if (local > 0 && local % layout.past_layers == 0) {
        gather_past(layer);
        block_barrier();
      }
      gate_layer(layer);
      if (a.omit != 1) block_barrier();
      mix_layer(layer);
      if (a.omit != 2) block_barrier();
    }
    if (stage().last_sample > stage().first_sample) head();
    if (stage().last_sample < z.bunch) forward();
  }

  // A group's step takes one tick in every block, and the blocks work on different groups at a
  // time.
  DV_DEVICE void run() {
    load();
    cluster_barrier();
    const int rank = cluster_rank(), blocks = cluster_size();
    const int64_t steps = a.cluster_steps[block_index() / blocks];
    const int period = a.groups > blocks ? a.groups : blocks;
    const int64_t ticks = steps == 0 ? 0 : (steps - 1) * period + a.groups + blocks - 1;
    for (number = 0; number < ticks; ++number) {
      const int64_t turn = number - rank;
      group = static_cast<int>(turn % period);
      if (turn >= 0 && group < a.groups && turn / period < steps) visit();
      if (a.omit == 3)
        block_barrier();
      else
        cluster_barrier();
    }
  }
};

}  // namespace dv::cuda
