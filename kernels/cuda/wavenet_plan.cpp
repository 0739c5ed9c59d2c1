#include "wavenet_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "../cpu/half.hpp"
#include "portable.cuh"
#include "wavenet_pack.hpp"

namespace dv::cuda {
namespace {

constexpr int kMultiplyAdds = 128;    // of a multiprocessor in a cycle
constexpr double kPhaseCycles = 300;  // between two barriers, apart from arithmetic: a guess
constexpr int kColumnChoices[] = {1, 4, 8};
constexpr int kClusterChoices[] = {1, 2, 4, 8};  // 16 has to be asked for: not every card takes it

int tiles(int64_t count) { return static_cast<int>((count + kTile - 1) / kTile * kTile); }

// What can be moved from one block to another: the input layer, a layer, a sample's head.
struct Part {
  double cycles;
  int64_t bytes;
};

struct Spread {
  std::vector<int> ends;  // of each block's parts
  double cycles;          // of the slowest
};

std::vector<Part> parts_of(const WaveNetDimensions& z, WeightStorage storage, int columns) {
  const int64_t bytes = storage == WeightStorage::kFloatWeights ? 4 : 2;
  const int64_t draw_bytes = storage == WeightStorage::kHalfWeights ? 2 : 4;
  const int64_t R = z.residualP, S = z.skipP, H = z.headP;
  const auto part = [&](int64_t count, int phases, int64_t floats, int64_t extra) {
    return Part{static_cast<double>(count) * columns / kMultiplyAdds + kPhaseCycles * phases,
                count * bytes + floats * 4 + extra};
  };
  std::vector<Part> parts{part(R * z.inputP, 2, R, 0)};
  for (int l = 0; l < z.layers; ++l) {
    const int64_t mixed = (l + 1 < z.layers ? R : 0) + S;
    parts.push_back(part(4 * R * R + mixed * R, 2, R, 0));
  }
  for (int i = 0; i < z.bunch; ++i) {
    Part sample = part(H * S, 3, H, H * z.drawP * draw_bytes);
    sample.cycles += static_cast<double>(H * z.drawP + z.levelsP * H) * columns / kMultiplyAdds;
    parts.push_back(sample);
  }
  return parts;
}

// Cuts the parts into runs so that the slowest block is as fast as possible; within `room` bytes a
// block where that can be done.
Spread spread_over(const std::vector<Part>& parts, int blocks, int64_t room, int64_t output_bytes,
                   int first_sample) {
  const int n = static_cast<int>(parts.size());
  const double none = std::numeric_limits<double>::infinity();
  std::vector<std::vector<double>> best(static_cast<size_t>(blocks) + 1,
                                        std::vector<double>(static_cast<size_t>(n) + 1, none));
  std::vector<std::vector<int>> from(static_cast<size_t>(blocks) + 1,
                                     std::vector<int>(static_cast<size_t>(n) + 1, 0));
  best[0][0] = 0;
  for (size_t b = 1; b <= static_cast<size_t>(blocks); ++b) {
    for (int end = 1; end <= n; ++end) {
      double cycles = 0;
      int64_t bytes = end > first_sample ? output_bytes : 0;
      for (int start = end - 1; start >= 0; --start) {
        cycles += parts[static_cast<size_t>(start)].cycles;
        bytes += parts[static_cast<size_t>(start)].bytes;
        const double over = bytes > room ? 1e12 * static_cast<double>(bytes - room) : 0;
        const double slowest = std::max(best[b - 1][static_cast<size_t>(start)], cycles + over);
        if (slowest < best[b][static_cast<size_t>(end)]) {
          best[b][static_cast<size_t>(end)] = slowest;
          from[b][static_cast<size_t>(end)] = start;
        }
      }
    }
  }
  Spread spread{std::vector<int>(static_cast<size_t>(blocks)), best.back().back()};
  for (int b = blocks, end = n; b > 0; --b) {
    spread.ends[static_cast<size_t>(b - 1)] = end;
    end = from[static_cast<size_t>(b)][static_cast<size_t>(end)];
  }
  return spread;
}

// Shared memory of a block without its weights.
Layout lay_out(const WaveNetDimensions& z, int columns, int groups, int past_layers,
               int head_samples, int most_samples) {
  Layout layout{};
  int at = 0;
  const auto take = [&at](int64_t bytes) {
    const int here = at;
    at += static_cast<int>((bytes + 15) / 16 * 16);
    return here;
  };
  const auto floats = [&](int64_t count) { return take(count * columns * 4); };
  layout.inbox_floats = (z.residualP + z.skipP) * columns;
  layout.inbox = floats(2 * (z.residualP + z.skipP));
  layout.history = floats(int64_t{groups} * 4 * z.ring);
  layout.output = floats(groups);
  layout.slots = take(int64_t{groups} * columns * static_cast<int64_t>(sizeof(Slot)));
  layout.stage = take(sizeof(Stage));
  layout.input = floats(z.inputP);
  layout.past = floats(int64_t{past_layers} * z.residualP);
  layout.current = floats(z.residualP);
  layout.gated = floats(z.residualP);
  layout.rectified = floats(z.skipP);
  layout.heads = floats(int64_t{head_samples} * z.headP);
  layout.draw = floats(z.drawP);
  layout.hidden = floats(z.headP);
  layout.logits = floats(z.levelsP);
  layout.uniforms = floats(most_samples);
  layout.past_layers = past_layers;
  layout.head_samples = head_samples;
  layout.weights = layout.bytes = at;
  return layout;
}

// The stages of a spread, without their weights.
std::vector<Stage> stages_of(const WaveNetDimensions& z, const Spread& spread) {
  std::vector<Stage> stages;
  int start = 0;
  unsigned with_history = 0;
  for (const int end : spread.ends) {
    Stage s{};
    const auto within = [](int value, int high) { return std::min(std::max(value, 0), high); };
    s.has_input = start == 0 ? 1 : 0;
    s.first_layer = within(start - 1, z.layers);
    s.last_layer = within(end - 1, z.layers);
    s.first_sample = within(start - 1 - z.layers, z.bunch);
    s.last_sample = within(end - 1 - z.layers, z.bunch);
    s.has_history = s.has_input != 0 || s.last_sample > s.first_sample ? 1 : 0;
    with_history |= static_cast<unsigned>(s.has_history) << stages.size();
    stages.push_back(s);
    start = end;
  }
  for (Stage& s : stages) s.history_ranks = with_history;
  return stages;
}

// Layout for stages: past inputs and heads are taken together as far as a quarter of the memory
// goes.
Layout lay_out_stages(const WaveNetDimensions& z, const std::vector<Stage>& stages, int columns,
                      int groups, int shared_bytes) {
  int layers = 1, samples = 1;
  for (const Stage& s : stages) {
    layers = std::max(layers, s.last_layer - s.first_layer);
    samples = std::max(samples, s.last_sample - s.first_sample);
  }
  const int64_t room = shared_bytes / 4, row = int64_t{4} * columns;
  const auto together = [&](int count, int64_t width) {
    return static_cast<int>(
        std::min<int64_t>(count, std::max<int64_t>(1, room / 2 / (width * row))));
  };
  return lay_out(z, columns, groups, together(layers, z.residualP), together(samples, z.headP),
                 samples);
}

std::string listed(const int* choices, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + std::to_string(choices[i]);
  return text;
}

void check_wishes(const PlanWishes& w, const DeviceInfo& device, size_t parts) {
  const auto among = [](int value, const int* choices, size_t count) {
    return value == 0 || std::find(choices, choices + count, value) != choices + count;
  };
  if (!among(w.columns, kColumnChoices, 3))
    throw std::invalid_argument("WaveNet columns are " + std::to_string(w.columns) +
                                ", supported are " + listed(kColumnChoices, 3));
  if (!among(w.cluster, kClusterChoices, 4) && w.cluster != kMostStages)
    throw std::invalid_argument("WaveNet clusters of " + std::to_string(w.cluster) +
                                " blocks are not supported, only of " + listed(kClusterChoices, 4) +
                                " and 16");
  if (w.cluster > 1 && !device.clusters)
    throw std::invalid_argument("WaveNet clusters of " + std::to_string(w.cluster) +
                                " blocks need compute capability 9.0, " + device.name + " has " +
                                std::to_string(device.major) + "." + std::to_string(device.minor));
  if (w.cluster > static_cast<int>(parts))
    throw std::invalid_argument("this WaveNet has " + std::to_string(parts) +
                                " parts, which cannot fill " + std::to_string(w.cluster) +
                                " blocks");
  if (w.groups < 0 || w.groups > kMostStages)
    throw std::invalid_argument("WaveNet groups are " + std::to_string(w.groups) +
                                ", expected 1 to " + std::to_string(kMostStages));
  if (w.threads % kWarp != 0 || w.threads < 0 || w.threads > most_threads(w.columns))
    throw std::invalid_argument("WaveNet threads are " + std::to_string(w.threads) +
                                ", expected a multiple of 32 up to " +
                                std::to_string(most_threads(w.columns)));
}

// One way to run; its weights are not packed yet.
struct Draft {
  Plan plan;
  int shared_bytes;
  bool fits;      // the working memory alone
  bool resident;  // all weights too
};

Draft draft_of(const WaveNetDimensions& z, WeightStorage storage, const DeviceInfo& device,
               int streams, const PlanWishes& w, int columns, int cluster) {
  Draft draft{};
  Plan& plan = draft.plan;
  draft.shared_bytes =
      w.shared_bytes > 0 ? std::min(w.shared_bytes, device.shared_bytes) : device.shared_bytes;
  plan.columns = columns;
  plan.cluster = cluster;
  plan.threads = w.threads > 0 ? w.threads : most_threads(columns);
  const int most_clusters = std::max(1, device.multiprocessors / cluster);
  const auto share = [](int count, int among) { return std::max(1, (count + among - 1) / among); };
  plan.clusters = std::min(most_clusters, share(streams, columns));
  plan.groups =
      w.groups > 0 ? w.groups : std::min(cluster, share(streams, plan.clusters * columns));
  plan.clusters = std::min(plan.clusters, share(streams, columns * plan.groups));
  const std::vector<Part> parts = parts_of(z, storage, columns);
  const int64_t output_bytes =
      int64_t{z.levelsP} * z.headP * (storage == WeightStorage::kFloatWeights ? 4 : 2) +
      z.levelsP * 8;
  const int guess = (static_cast<int>(parts.size()) + cluster - 1) / cluster;
  const int working = lay_out(z, columns, plan.groups, guess, guess, guess).bytes;
  const Spread spread =
      spread_over(parts, cluster, draft.shared_bytes - working - 1024, output_bytes, 1 + z.layers);
  plan.stages = stages_of(z, spread);
  plan.layout = lay_out_stages(z, plan.stages, columns, plan.groups, draft.shared_bytes);
  draft.fits = plan.layout.bytes <= draft.shared_bytes;
  if (draft.fits) {
    Packing packing(z, storage, nullptr);
    packing.pack(draft.shared_bytes, &plan);
    draft.resident = plan.streamed_bytes == 0;
  }
  return draft;
}

}  // namespace

WaveNetDimensions dimensions_of(const WaveNetSizes& s) {
  WaveNetDimensions z{};
  z.hop = static_cast<int>(s.hop);
  z.bunch = static_cast<int>(s.bunch);
  z.layers = static_cast<int>(s.layers());
  z.residual = static_cast<int>(s.residual);
  z.skip = static_cast<int>(s.skip);
  z.head = static_cast<int>(s.head);
  z.levels = static_cast<int>(s.levels);
  z.history = static_cast<int>(s.history);
  z.head_history = static_cast<int>(s.head_history);
  z.harmonics = static_cast<int>(s.harmonics);
  z.lpc_order = static_cast<int>(s.lpc_order);
  z.past = static_cast<int>(s.past());
  z.ring = z.past + z.bunch;
  z.residualP = tiles(s.residual);
  z.skipP = tiles(s.skip);
  z.headP = tiles(s.head);
  z.levelsP = tiles(s.levels);
  z.inputP = tiles(3 * s.history + 2 * s.harmonics);
  z.drawP = tiles(2 + 3 * s.head_history);
  int rows = 0;
  for (int l = 0; l < z.layers; ++l) {
    z.dilations[l] = static_cast<int>(s.dilations[static_cast<size_t>(l)]);
    z.queue_rows[l] = rows;
    rows += z.dilations[l];
  }
  z.steps_a_frame = z.hop / z.bunch;
  z.conditioning = s.conditioning();
  z.pre_emphasis = static_cast<float>(s.pre_emphasis);
  z.signal_gain = static_cast<float>(s.signal_gain);
  z.code_scale = static_cast<float>(s.code_scale);
  z.mu = static_cast<float>(s.levels - 1);
  z.unit = static_cast<float>(1.0 / std::log(static_cast<double>(s.levels)));
  return z;
}

TensorCopies::TensorCopies(const WaveNetSizes& s, const WaveNetTensors& t) {
  const int64_t R = s.residual, S = s.skip, H = s.head, L = s.layers(), N = s.bunch;
  const auto copy = [](const float* from, int64_t count, std::vector<float>* to) {
    to->assign(from, from + count);
  };
  copy(t.input_weight, R * (3 * s.history + 2 * s.harmonics), &input_weight);
  copy(t.input_bias, R, &input_bias);
  copy(t.past_weight, L * 2 * R * R, &past_weight);
  copy(t.current_weight, L * 2 * R * R, &current_weight);
  copy(t.residual_weight, (L - 1) * R * R, &residual_weight);
  copy(t.residual_bias, (L - 1) * R, &residual_bias);
  copy(t.skip_weight, L * S * R, &skip_weight);
  copy(t.bunch_weight, N * H * S, &bunch_weight);
  copy(t.bunch_bias, N * H, &bunch_bias);
  copy(t.draw_weight, N * H * (2 + 3 * s.head_history), &draw_weight);
  copy(t.output_weight, s.levels * H, &output_weight);
  copy(t.output_bias, s.levels, &output_bias);
  amplitudes = level_amplitudes(s);
}

bool TensorCopies::fit_half() const {
  for (const auto* weights : {&input_weight, &past_weight, &current_weight, &residual_weight,
                              &skip_weight, &bunch_weight, &draw_weight, &output_weight}) {
    uint16_t half;
    for (const float w : *weights)
      if (!to_half_exactly(w, &half)) return false;
  }
  return true;
}

Plan make_plan(const WaveNetSizes& sizes, const TensorCopies& tensors, WeightStorage storage,
               const DeviceInfo& device, int streams, const PlanWishes& wishes) {
  const WaveNetDimensions z = dimensions_of(sizes);
  const size_t parts = static_cast<size_t>(1 + z.layers + z.bunch);
  check_wishes(wishes, device, parts);
  Draft chosen{};
  int least = 0, allowed = 0;
  // Few columns while they suffice for the streams, and the smallest cluster that holds all
  // weights.
  for (const int columns : kColumnChoices) {
    if (wishes.columns != 0 && columns != wishes.columns) continue;
    Draft best{};
    const int named[] = {wishes.cluster};
    const int* const choices = wishes.cluster > 0 ? named : kClusterChoices;
    for (int i = 0; i < (wishes.cluster > 0 ? 1 : 4); ++i) {
      if (choices[i] > static_cast<int>(parts) || (choices[i] > 1 && !device.clusters)) continue;
      Draft draft = draft_of(z, storage, device, streams, wishes, columns, choices[i]);
      if (!draft.fits) {
        least = draft.plan.layout.bytes;
        allowed = draft.shared_bytes;
        continue;
      }
      best = std::move(draft);
      if (best.resident) break;
    }
    if (!best.fits) break;
    chosen = std::move(best);
    if (chosen.plan.streams() >= streams) break;
  }
  if (!chosen.fits)
    throw std::invalid_argument("this WaveNet needs " + std::to_string(least) +
                                " bytes of shared memory in a block, " + device.name + " has " +
                                std::to_string(allowed));
  Packing(z, storage, &tensors).pack(chosen.shared_bytes, &chosen.plan);
  return std::move(chosen.plan);
}

}  // namespace dv::cuda
