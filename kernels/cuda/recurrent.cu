#include <algorithm>
#include <stdexcept>
#include <string>

#include "math.cuh"
#include "portable.cuh"
#include "recurrent.hpp"

namespace dv::cuda {
namespace {

constexpr int kThreads = 512;    // of a block, at most
constexpr int kMostCluster = 8;  // without asking for more than every device must allow
constexpr int kMostSequences = 4;
constexpr int kQrnnThreads = 128;
constexpr int kAhead = 4;  // rows of a quasi-recurrent layer that are read together

// Sequences of one cluster.
struct GruGroup {
  GruSequence sequences[kMostSequences];
  int count;
  int64_t longest;
};

struct GruCall {
  GruPlan plan;
  const GruGroup* groups;
};

// The states of all units, twice, since a step reads one copy and writes the other:
// [2][sequence][padded].
template <int kSequences>
DV_DEVICE float* states_of(const GruPlan& plan, int64_t step, int sequence) {
  const int64_t copy = (step & 1) * kSequences + sequence;
  return reinterpret_cast<float*>(shared_memory()) + copy * plan.padded;
}

// sums [gate][sequence] += the weights of a quad times the states it is for.
template <int kSequences>
DV_DEVICE void add_quad(const Float4 (&weights)[3], const float* states, int pitch,
                        float (&sums)[3][kSequences]) {
  DV_UNROLL
  for (int b = 0; b < kSequences; ++b) {
    const Float4 h = *reinterpret_cast<const Float4*>(states + b * pitch);
    DV_UNROLL
    for (int gate = 0; gate < 3; ++gate) {
      DV_UNROLL
      for (int i = 0; i < 4; ++i) sums[gate][b] = fused(weights[gate].x[i], h.x[i], sums[gate][b]);
    }
  }
}

// The same for quads first..last in memory, [quad][gate][thread].
template <int kSequences>
DV_DEVICE void add_quads(const GruPlan& plan, const Float4* weights, int first, int last,
                         const float* states, float (&sums)[3][kSequences]) {
  DV_ROLLED
  for (int q = first; q < last; ++q) {
    const Float4* const at = weights + (q - first) * 3 * plan.threads;
    const Float4 quad[3] = {at[0], at[plan.threads], at[2 * plan.threads]};
    add_quad(quad, states + 4 * plan.lanes * q, plan.padded, sums);
  }
}

// The sum over the lanes of a unit, in all of them.
template <int kSequences>
DV_DEVICE void add_lanes(int lanes, float (&sums)[3][kSequences]) {
  DV_ROLLED
  for (int mask = lanes / 2; mask > 0; mask /= 2) {
    DV_UNROLL
    for (int gate = 0; gate < 3; ++gate) {
      DV_UNROLL
      for (int b = 0; b < kSequences; ++b) sums[gate][b] += shuffle_xor(sums[gate][b], mask);
    }
  }
}

// What the inputs give to the three gates of a unit.
struct Given {
  float r, z, n;
};

DV_DEVICE Given given_to(const GruSequence& s, int hidden, int unit, int64_t row) {
  const float* const at = s.inputs + row * 3 * hidden + unit;
  return {at[0], at[hidden], at[2 * hidden]};
}

// A step of all units of a block for up to kSequences sequences. Lane b of a unit computes the new
// state of sequence b and sends it to every block of the cluster.
template <int kQuads, int kSequences>
DV_KERNEL(kThreads)
gru_kernel(GruCall call) {
  const GruPlan& plan = call.plan;
  const int rank = cluster_rank(), blocks = plan.cluster, hidden = plan.hidden;
  const GruGroup& group = call.groups[block_index() / blocks];
  const int lane = thread_index() & (plan.lanes - 1), slot = thread_index() / plan.lanes;
  const int pitch = plan.padded, held = plan.threads / plan.lanes;
  const bool owner = lane < group.count;  // of a sequence
  const GruSequence mine = group.sequences[owner ? lane : 0];
  const float* const bias = mine.bias;
  auto* const kept = reinterpret_cast<Float4*>(states_of<kSequences>(plan, 0, 2 * kSequences));
  const int64_t of_a_pass = int64_t{3} * plan.quads * plan.threads;
  const auto* const all = reinterpret_cast<const Float4*>(mine.weights) +
                          rank * plan.passes * of_a_pass + thread_index();
  const int in_shared = plan.resident + plan.shared;

  Float4 weights[kQuads][3];
  DV_UNROLL
  for (int q = 0; q < kQuads; ++q) {
    DV_UNROLL
    for (int gate = 0; gate < 3; ++gate)
      weights[q][gate] = q < plan.quads ? all[(q * 3 + gate) * plan.threads] : Float4{};
  }
  DV_ROLLED
  for (int i = 0; i < 3 * plan.shared; ++i)
    kept[i * plan.threads + thread_index()] = all[(3 * kQuads + i) * plan.threads];
  DV_ROLLED
  for (int i = thread_index(); i < 2 * kSequences * pitch; i += plan.threads)
    states_of<kSequences>(plan, 0, 0)[i] = 0.0f;
  block_barrier();
  for (int b = 0; b < group.count; ++b) DV_ROLLED
  for (int k = thread_index(); k < hidden; k += plan.threads)
    states_of<kSequences>(plan, 0, b)[k] = group.sequences[b].state[k];
  cluster_barrier();  // no block may write the states of one that has yet to clear them

  DV_ROLLED
  for (int64_t step = 0; step < group.longest; ++step) {
    const float* const states = states_of<kSequences>(plan, step, 0) + 4 * lane;
    const bool active = owner && step < mine.rows;
    const int64_t row = mine.reverse != 0 ? mine.rows - 1 - step : step;
    DV_ROLLED
    for (int pass = 0; pass < plan.passes; ++pass) {
      const int of_block = pass * held + slot, unit = rank * plan.units + of_block;
      const bool live = of_block < plan.units && unit < hidden;
      Given given{0.0f, 0.0f, 0.0f};
      if (active && live) given = given_to(mine, hidden, unit, row);
      float sums[3][kSequences] = {};
      if (pass == 0) {
        DV_UNROLL
        for (int q = 0; q < kQuads; ++q)
          add_quad(weights[q], states + 4 * plan.lanes * q, pitch, sums);
        add_quads(plan, kept + thread_index(), kQuads, in_shared, states, sums);
      }
      const int first = pass == 0 ? in_shared : 0;
      add_quads(plan, all + pass * of_a_pass + int64_t{3} * first * plan.threads, first, plan.quads,
                states, sums);
      add_lanes(plan.lanes, sums);
      if (!(owner && live)) continue;
      float r = sums[0][0], z = sums[1][0], n = sums[2][0];
      DV_UNROLL
      for (int b = 1; b < kSequences; ++b) {
        r = lane == b ? sums[0][b] : r;
        z = lane == b ? sums[1][b] : z;
        n = lane == b ? sums[2][b] : n;
      }
      float h = states_of<kSequences>(plan, step, lane)[unit];
      if (active) {
        r = sigmoid_of(given.r + (r + bias[unit]));
        z = sigmoid_of(given.z + (z + bias[hidden + unit]));
        n = tanh_of(given.n + r * (n + bias[2 * hidden + unit]));
        h = (1.0f - z) * n + z * h;
        mine.y[row * hidden + unit] = h;
      }
      float* const next = states_of<kSequences>(plan, step + 1, lane) + unit;
      DV_ROLLED
      for (int to = 0; to < blocks; ++to) *remote(next, to) = h;
    }
    if (blocks == 1) {
      block_barrier();
    } else {
      cluster_barrier();
    }
  }
  if (rank != 0) return;
  for (int b = 0; b < group.count; ++b) DV_ROLLED
  for (int k = thread_index(); k < hidden; k += plan.threads)
    group.sequences[b].state[k] = states_of<kSequences>(plan, group.longest, b)[k];
}

using GruKernel = void (*)(GruCall);

template <int kSequences>
GruKernel gru_for(int quads) {
  constexpr int kMost = kSequences == 1 ? 6 : 4;  // sums of several sequences take registers too
  return quads == 2   ? gru_kernel<2, kSequences>
         : quads == 4 ? gru_kernel<4, kSequences>
                      : gru_kernel<kMost, kSequences>;
}

struct QrnnCall {
  const QrnnSequence* sequences;
  int hidden, chunks;
};

// A thread a channel; its cell stays in a register from the first row to the last.
DV_KERNEL(kQrnnThreads) qrnn_kernel(QrnnCall call) {
  const QrnnSequence s = call.sequences[block_index() / call.chunks];
  const int channel = block_index() % call.chunks * kQrnnThreads + thread_index();
  if (channel >= call.hidden) return;
  float cell = s.cell[channel];
  for (int64_t row = 0; row < s.rows; row += kAhead) {
    float candidate[kAhead] = {}, forget[kAhead] = {}, output[kAhead] = {};
    DV_UNROLL
    for (int i = 0; i < kAhead; ++i) {
      if (row + i >= s.rows) continue;
      const int64_t at = (row + i) * call.hidden + channel;
      candidate[i] = s.candidate[at];
      forget[i] = s.forget[at];
      output[i] = s.output[at];
    }
    DV_UNROLL
    for (int i = 0; i < kAhead; ++i) {
      if (row + i >= s.rows) continue;
      cell = forget[i] * cell + (1.0f - forget[i]) * candidate[i];
      s.y[(row + i) * call.hidden + channel] = output[i] * cell;
    }
  }
  s.cell[channel] = cell;
}

int rounded_up(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }

constexpr int kFloat = static_cast<int>(sizeof(float));

// How a layer lies in clusters of so many blocks.
GruPlan spread(int hidden, int cluster) {
  GruPlan plan{};
  plan.hidden = hidden;
  plan.cluster = cluster;
  plan.units = (hidden + cluster - 1) / cluster;
  plan.lanes = 1;
  while (plan.lanes < kWarp && 2 * plan.lanes * plan.units <= kThreads && 4 * plan.lanes < hidden)
    plan.lanes *= 2;
  plan.threads = std::min(kThreads, rounded_up(plan.units * plan.lanes, kWarp));
  const int held = plan.threads / plan.lanes;
  plan.passes = (plan.units + held - 1) / held;
  plan.quads = (hidden + 4 * plan.lanes - 1) / (4 * plan.lanes);
  plan.resident = plan.quads <= 2 ? 2 : plan.quads <= 4 ? 4 : 6;
  return plan;
}

// Fills in what depends on how many sequences run side by side.
GruPlan with_sequences(GruPlan plan, int sequences, int shared_bytes) {
  if (sequences > 1) plan.resident = std::min(plan.resident, 4);  // their sums take registers too
  plan.padded = 4 * plan.lanes * std::max(plan.quads, plan.resident);
  const int of_a_quad = 12 * plan.threads * kFloat;
  const int states = 2 * sequences * plan.padded * kFloat;
  plan.sequences = sequences;
  plan.shared =
      std::clamp((shared_bytes - states) / of_a_quad, 0, std::max(0, plan.quads - plan.resident));
  plan.shared_bytes = states + plan.shared * of_a_quad;
  return plan;
}

}  // namespace

GruPlan plan_gru(int hidden, int64_t sequences, const DeviceInfo& device) {
  constexpr int kMostPadding = 4 * kWarp * 6;
  const int most = device.shared_bytes / (2 * kFloat) - kMostPadding;
  if (hidden > most)
    throw std::invalid_argument("a GRU of " + std::to_string(hidden) + " units: " + device.name +
                                " runs up to " + std::to_string(most));
  // The fewest blocks that keep all weights in registers; else as many as there may be.
  GruPlan plan = spread(hidden, 1);
  while (device.clusters && plan.cluster < kMostCluster &&
         (plan.passes > 1 || plan.quads > plan.resident))
    plan = spread(hidden, 2 * plan.cluster);
  const bool many = sequences > 1 && plan.lanes >= kMostSequences &&
                    2 * kMostSequences * (hidden + kMostPadding) * kFloat <= device.shared_bytes;
  return with_sequences(plan, many ? kMostSequences : 1, device.shared_bytes);
}

std::vector<float> arrange_gru(const GruPlan& plan, const float* w_hh) {
  const int64_t size = int64_t{12} * plan.cluster * plan.passes * plan.quads * plan.threads;
  std::vector<float> arranged(static_cast<size_t>(size), 0.0f);
  const int held = plan.threads / plan.lanes;
  for (int unit = 0; unit < plan.hidden; ++unit) {
    const int block = unit / plan.units, of_block = unit % plan.units;
    const int pass = of_block / held, slot = of_block % held;
    for (int gate = 0; gate < 3; ++gate) {
      const float* const row = w_hh + (int64_t{gate} * plan.hidden + unit) * plan.hidden;
      for (int k = 0; k < plan.hidden; ++k) {
        const int lane = k / 4 % plan.lanes, quad = k / 4 / plan.lanes;
        const int64_t at = ((int64_t{block} * plan.passes + pass) * plan.quads + quad) * 3 + gate;
        const int64_t thread = at * plan.threads + slot * plan.lanes + lane;
        arranged[static_cast<size_t>(thread * 4 + k % 4)] = row[k];
      }
    }
  }
  return arranged;
}

void run_gru(const GruPlan& plan, const std::vector<GruSequence>& sequences, StreamHandle stream) {
  std::vector<GruGroup> groups;
  for (const GruSequence& sequence : sequences) {
    const bool joins = !groups.empty() && groups.back().count < plan.sequences &&
                       groups.back().sequences[0].weights == sequence.weights;
    if (!joins) groups.push_back(GruGroup{});
    GruGroup& group = groups.back();
    group.sequences[group.count++] = sequence;
    group.longest = std::max(group.longest, sequence.rows);
  }
  if (groups.empty() || plan.hidden == 0) return;
  const Buffer<GruGroup> on_device(groups.data(), groups.size(), stream);
  const auto kernel =
      plan.sequences == 1 ? gru_for<1>(plan.resident) : gru_for<kMostSequences>(plan.resident);
  const Grid grid{static_cast<int>(groups.size()) * plan.cluster, plan.cluster, plan.threads,
                  plan.shared_bytes};
  launch(kernel, grid, stream, GruCall{plan, on_device.get()});
}

void run_qrnn(int hidden, const std::vector<QrnnSequence>& sequences, StreamHandle stream) {
  if (sequences.empty() || hidden == 0) return;
  const Buffer<QrnnSequence> on_device(sequences.data(), sequences.size(), stream);
  const int chunks = (hidden + kQrnnThreads - 1) / kQrnnThreads;
  const Grid grid{static_cast<int>(sequences.size()) * chunks, 1, kQrnnThreads, 0};
  launch(qrnn_kernel, grid, stream, QrnnCall{on_device.get(), hidden, chunks});
}

}  // namespace dv::cuda
