// What a block of a cluster keeps in its shared memory, and what a step needs before its first
// layer.
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
struct Block {
  using Place_ = Operand<kColumns>;
  using Draws = typename DrawStorage<T>::Type;

  const WaveNetArguments& a;
  const WaveNetDimensions& z;
  const Layout& layout;
  unsigned char* const memory;
  int group = 0;
  int number = 0;  // of the tick

  DV_DEVICE explicit Block(const WaveNetArguments& arguments)
      : a(arguments), z(arguments.sizes), layout(arguments.layout), memory(shared_memory()) {}

  DV_DEVICE float* floats(int offset) const { return reinterpret_cast<float*>(memory + offset); }
  DV_DEVICE const Stage& stage() const {
    return *reinterpret_cast<const Stage*>(memory + layout.stage);
  }
  DV_DEVICE Slot& slot(int column) const {
    return reinterpret_cast<Slot*>(memory + layout.slots)[group * kColumns + column];
  }
  DV_DEVICE float* inbox(int tick) const {
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
  // y = W x with a matrix from shared memory or, where it found no room there, from the cache: two
  // copies of the loop, since loads from shared memory are of another kind. Skips `skipped`
  // weights.
  template <class W, class Start, class Finish>
  DV_DEVICE void multiply(const Place& place, int64_t skipped, int tiles, const Vectors& inputs,
                          Start start, Finish finish) const {
    if (place.resident != 0) {
      const auto* const weights = memory + layout.weights + static_cast<int>(place.offset);
      product<W, kColumns>(reinterpret_cast<const W*>(weights) + static_cast<int>(skipped), tiles,
                           inputs, start, finish);
    } else {
      const auto* const weights = a.weights + stage().weights + place.offset;
      product<W, kColumns>(reinterpret_cast<const W*>(weights) + skipped, tiles, inputs, start,
                           finish);
    }
  }
  DV_DEVICE const float* vector(int offset) const {
    const unsigned char* const base =
        stage().resident_vectors != 0 ? memory + layout.weights : a.weights + stage().weights;
    return reinterpret_cast<const float*>(base + offset);
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
      ++s.turn;
      s.position += z.bunch;
      if (s.position >= z.ring) s.position -= z.ring;
      if (++s.in_frame < z.steps_a_frame) return;
      ++s.frame;
      s.cond += z.conditioning;
      s.lpc += z.lpc_order;
    } else if (s.next < s.last) {
      s.piece = a.pieces[s.next++];
      s.active = 1;
      s.step = s.frame = 0;
      s.steps = s.piece.frames * z.steps_a_frame;
      s.turn = s.piece.queue_step;
      s.position = z.past;
      s.cond = s.piece.cond;
      s.lpc = s.piece.lpc;
    } else {
      s.active = 0;
      return;
    }
    s.in_frame = 0;
    s.temperature = s.piece.temperature == nullptr ? 1.0f : s.piece.temperature[s.frame];
  }

  // Calls f(row, column) for all rows of all streams, shared out among the threads.
  template <class F>
  DV_DEVICE void for_all(int rows, F f) const {
    for (int i = thread_index(); i < rows * kColumns; i += thread_count())
      f(i / kColumns, i % kColumns);
  }
  // For arrays of a stream's own: `begin(slot, column)` gives something, then `each(it, row,
  // column)` is called for all rows, with neighbouring threads at neighbouring rows. Streams that
  // rest are left out.
  template <class Begin, class Each>
  DV_DEVICE void for_streams(int rows, Begin begin, Each each) const {
    const int warp = warp_index(), warps = warp_count();
    const int sharing = warps < kColumns ? 1 : warps / kColumns;  // warps of a stream
    if (warp / kColumns >= sharing) return;
    for (int column = warp % kColumns; column < kColumns; column += warps) {
      const Slot& s = slot(column);
      if (s.active == 0) continue;
      const auto it = begin(s, column);
      for (int row = warp / kColumns * kWarp + lane_index(); row < rows; row += sharing * kWarp)
        each(it, row, column);
    }
  }

  DV_DEVICE void load_history() const {
    for_streams(
        z.past, [](const Slot& s, int) { return &s; },
        [&](const Slot* s, int i, int column) {
          if (s->step != 0) return;
          const float x = s->piece.signal[i], e = s->piece.residual[i];
          float* const entry = history(column, 0) + i;
          entry[0] = x;
          entry[z.ring] = compress(x);
          entry[2 * z.ring] = e;
          entry[3 * z.ring] = compress(e);
          // Otherwise the block that draws the first sample has handed on what comes after it.
          if (i == 0 && stage().first_sample == 0)
            floats(layout.output)[group * kColumns + column] = *s->piece.output;
        });
  }

  DV_DEVICE void save_history() const {
    for_streams(
        z.past, [](const Slot& s, int) { return &s; },
        [&](const Slot* s, int i, int column) {
          if (s->step + 1 != s->steps) return;
          const int at = ring_entry(*s, z.bunch - z.past + i);
          s->piece.signal[i] = history(column, 0)[at];
          s->piece.residual[i] = history(column, 2)[at];
          if (i == 0) *s->piece.output = floats(layout.output)[group * kColumns + column];
        });
  }

  DV_DEVICE float compress(float x) const { return compand(x, z.code_scale, z.mu, z.unit); }

  // Where the layer's input of d steps ago lies, and this step's goes.
  DV_DEVICE float* queue(const Slot& s, int layer) const {
    const int row =
        z.queue_rows[layer] + static_cast<int>(s.turn % static_cast<unsigned>(z.dilations[layer]));
    return s.piece.queues + static_cast<int64_t>(row) * z.residual;
  }

  // The past inputs of the layers from this one on, as many as there is room for.
  DV_DEVICE void gather_past(int layer) const {
    for (int l = 0; l < layout.past_layers && layer + l < stage().last_layer; ++l) {
      float* const past = floats(layout.past) + l * z.residualP * kColumns;
      for_streams(
          z.residual, [&](const Slot& s, int) { return queue(s, layer + l); },
          [&](const float* from, int r, int column) {
            past[Place_::at(r, column)] = seen<T>(from[r]);
          });
    }
  }

  DV_DEVICE void gather_uniforms() const {
    for_all(stage().last_sample - stage().first_sample, [&](int i, int column) {
      const Slot& s = slot(column);
      if (s.active == 0 || s.piece.given != nullptr) return;
      const int64_t t = s.step * z.bunch + stage().first_sample + i;
      floats(layout.uniforms)[i * kColumns + column] =
          s.piece.uniforms != nullptr
              ? s.piece.uniforms[t]
              : random_uniform(s.piece.seed, s.piece.sentence,
                               s.piece.first_sample + static_cast<uint64_t>(t));
    });
  }

  // The three views of sample `at` of the ring as W sees them, into the operand's inputs i, i +
  // stride, i + 2 stride.
  template <class W>
  DV_DEVICE void put_views(float* operand, int column, int at, int i, int stride) const {
    const float* const entry = history(column, 0) + at;
    operand[Place_::at(i, column)] = seen<W>(z.signal_gain * entry[0]);
    operand[Place_::at(i + stride, column)] = seen<W>(entry[z.ring]);
    operand[Place_::at(i + 2 * stride, column)] = seen<W>(entry[3 * z.ring]);
  }

  DV_DEVICE void gather_inputs() const {
    const int M = z.history, Q2 = 2 * z.harmonics;
    float* const to = floats(layout.input);
    for_streams(
        M, [](const Slot& s, int) { return &s; },
        [&](const Slot* s, int i, int column) {
          put_views<T>(to, column, ring_entry(*s, i - M), i, M);
        });
    for_streams(
        Q2, [&](const Slot& s, int) { return s.piece.pulse + s.step * Q2; },
        [&](const float* pulse, int i, int column) {
          to[Place_::at(3 * M + i, column)] = seen<T>(pulse[i]);
        });
    for_all(z.skipP, [&](int r, int column) {
      const Slot& s = slot(column);
      skip()[r * kColumns + column] =
          s.active != 0 && r < z.skip ? s.cond[z.conditioning - z.skip + r] : 0.0f;
    });
  }

  // What a step needs and has nobody to wait for.
  DV_DEVICE void gather() const {
    const bool layers = stage().last_layer > stage().first_layer;
    if (layers) gather_past(stage().first_layer);
    gather_uniforms();
    if (stage().has_input != 0) {
      gather_inputs();
    } else if (layers) {
      for_all(z.residualP, [&](int r, int column) {
        floats(layout.current)[Place_::at(r, column)] = seen<T>(hidden()[r * kColumns + column]);
      });
    }
  }
};

}  // namespace dv::cuda
