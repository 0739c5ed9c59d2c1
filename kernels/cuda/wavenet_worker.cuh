// One block of a cluster: its stage of every step, for one group of streams after another.
#pragma once

#include "wavenet_block.cuh"

namespace dv::cuda {

template <class T, int kColumns>
struct Worker : Block<T, kColumns> {
  using Base = Block<T, kColumns>;
  using Place_ = typename Base::Place_;
  using Draws = typename Base::Draws;
  using Base::a, Base::z, Base::layout, Base::group, Base::number;
  using Base::Base;
  using Base::floats, Base::stage, Base::slot, Base::inbox, Base::hidden, Base::skip;
  using Base::for_all, Base::for_streams, Base::load, Base::advance, Base::gather;
  using Base::gather_past, Base::load_history, Base::save_history;
  using Base::history, Base::ring_entry, Base::vector, Base::compress, Base::queue;

  DV_DEVICE void input_layer() const {
    const float* const bias = vector(stage().input_bias);
    float* const h = hidden();
    float* const current = floats(layout.current);
    this->template multiply<T>(
        stage().input, 0, z.residualP / kTile,
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
    this->template multiply<T>(
        stage().gate[layer], 0, z.residualP / 8, Vectors{past, chunks, current, chunks},
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
    for_streams(
        R, [&](const Slot& s, int) { return queue(s, layer); },
        [&](float* to, int r, int column) { to[r] = current[Place_::at(r, column)]; });
  }

  // The residual stream and the skip sum take a layer's output, one matrix for both.
  DV_DEVICE void mix_layer(int layer) const {
    const int residual_tiles = layer + 1 < z.layers ? z.residualP / kTile : 0;
    const float* const bias = vector(stage().residual_bias[layer]);
    float* const h = hidden();
    float* const sum = skip();
    float* const current = floats(layout.current);
    this->template multiply<T>(
        stage().mix[layer], 0, residual_tiles + z.skipP / kTile,
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
    this->template multiply<T>(
        stage().bunch, static_cast<int64_t>(local) * z.headP * z.skipP, samples * z.headP / kTile,
        Vectors{floats(layout.rectified), z.skipP / kTile, nullptr, 0},
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
    float* const to = floats(layout.draw);
    for (int i = lane_index(); i < J; i += kWarp)
      this->template put_views<Draws>(to, column, ring_entry(s, sample - J + i), 2 + i, J);
    const float companded = compress(prediction);
    if (lane_index() != 0) return;
    to[Place_::at(0, column)] = z.signal_gain * prediction;
    to[Place_::at(1, column)] = companded;
    s.prediction = prediction;
  }

  DV_DEVICE void draw_layer(int sample) const {
    const int local = (sample - stage().first_sample) % layout.head_samples;
    const float* const heads = floats(layout.heads) + local * z.headP * kColumns;
    float* const out = floats(layout.hidden);
    this->template multiply<Draws>(
        stage().draw[sample], 0, z.headP / kTile,
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
    this->template multiply<T>(
        stage().output, 0, z.levelsP / kTile,
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

  // Writes a sample into the histories of every block that keeps them, a lane a block. Into its own
  // memory not by the way to others': this warp reads it before the next barrier of the cluster.
  DV_DEVICE void remember(const Slot& s, int sample, int column, const Float4& kinds,
                          float heard) const {
    const int rank = lane_index();
    if (rank < cluster_size() && (stage().history_ranks >> rank & 1u) != 0) {
      float* entry = history(column, 0) + ring_entry(s, sample);
      float* output = floats(layout.output) + group * kColumns + column;
      if (rank != cluster_rank()) {
        entry = remote(entry, rank);
        output = remote(output, rank);
      }
      DV_UNROLL
      for (int k = 0; k < 4; ++k) entry[k * z.ring] = kinds.x[k];
      *output = heard;
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
      block_barrier();
      mix_layer(layer);
      block_barrier();
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
    const int steps = a.cluster_steps[block_index() / blocks];
    const int period = a.groups > blocks ? a.groups : blocks;
    const int ticks = steps == 0 ? 0 : (steps - 1) * period + a.groups + blocks - 1;
    int turn = -rank, step = 0;  // of this block: it begins when the first group reaches it
    for (number = 0; number < ticks; ++number) {
      group = turn;
      if (turn >= 0 && turn < a.groups && step < steps) visit();
      if (++turn == period) {
        turn = 0;
        ++step;
      }
      cluster_barrier();
    }
  }
};

}  // namespace dv::cuda
