#include "wavenet.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

#include "dispatch.hpp"
#include "pack.hpp"

namespace dv {
namespace {

constexpr int kInput = 0, kInputBias = 1, kPast = 2, kCurrent = 3, kResidual = 4, kResidualBias = 5,
              kSkip = 6, kBunch = 7, kBunchBias = 8, kDraw = 9, kOutput = 10, kOutputBias = 11,
              kLimits = 12, kTensors = 13;

std::vector<int64_t> tensor_sizes(const WaveNetSizes& z) {
  const int64_t R = z.residual, S = z.skip, H = z.head, L = z.layers(), N = z.bunch;
  return {R * (3 * z.history + 2 * z.harmonics),
          R,
          L * 2 * R * R,
          L * 2 * R * R,
          (L - 1) * R * R,
          (L - 1) * R,
          L * S * R,
          N * H * S,
          N * H,
          N * H * (2 + 3 * z.head_history),
          z.levels * H,
          z.levels,
          L + 2};
}

}  // namespace

static void set_sizes(const WaveNetSizes& z, WaveNetModel* m) {
  m->hop = static_cast<int>(z.hop);
  m->bunch = static_cast<int>(z.bunch);
  m->layers = static_cast<int>(z.layers());
  m->residual = static_cast<int>(z.residual);
  m->skip = static_cast<int>(z.skip);
  m->head = static_cast<int>(z.head);
  m->levels = static_cast<int>(z.levels);
  m->history = static_cast<int>(z.history);
  m->head_history = static_cast<int>(z.head_history);
  m->harmonics = static_cast<int>(z.harmonics);
  m->lpc_order = static_cast<int>(z.lpc_order);
  m->past = static_cast<int>(z.past());
  m->residualP = padded(m->residual);
  m->skipP = padded(m->skip);
  m->headP = padded(m->head);
  m->levelsP = padded(m->levels);
  m->lpcP = padded(m->lpc_order);
  for (int l = 0; l < m->layers; ++l) m->dilations[l] = static_cast<int>(z.dilations[l]);
  m->dilation_sum = z.dilation_sum();
  m->pre_emphasis = static_cast<float>(z.pre_emphasis);
  m->signal_gain = static_cast<float>(z.signal_gain);
  m->code_scale = static_cast<float>(z.code_scale);
  m->mu = static_cast<float>(z.levels - 1);
  m->compress_scale = static_cast<float>(1.0 / std::log(static_cast<double>(z.levels)));
}

// The weights of one WaveNet in the layout of one instruction set.
struct WaveNet::Packed {
  bool half;
  int int8_group, int8_zero, int8_rectified_zero;
  WaveNetModel model{};
  Arena arena;
};

struct PackedMatrix::Contents {
  Matrix matrix{};
  Arena arena;
};

PackedMatrix::PackedMatrix(const float* weight, int64_t outputs, int64_t inputs, bool rectified,
                           float limit, const Table& functions)
    : contents_(std::make_unique<Contents>()) {
  Rows rows;
  rows.inputs = inputs;
  rows.append(weight, outputs, padded(static_cast<int>(outputs)));
  const InputRange range{rectified, limit};
  pack_matrix(rows, nullptr, kInt8, range, functions, &contents_->arena);
  contents_->arena.allocate();
  contents_->matrix = pack_matrix(rows, nullptr, kInt8, range, functions, &contents_->arena);
}

PackedMatrix::~PackedMatrix() = default;

const Matrix& PackedMatrix::matrix() const { return contents_->matrix; }

namespace {

// Packs the tensors of a WaveNet into a model.
class Packer {
 public:
  Packer(const WaveNetSizes& sizes, const std::vector<std::vector<float>>& tensors,
         Precision precision, const Table& functions, Arena* arena, WaveNetModel* model)
      : sizes_(sizes),
        tensors_(tensors),
        precision_(precision),
        functions_(functions),
        arena_(arena),
        m_(*model) {}

  void pack() {
    set_sizes(sizes_, &m_);
    const int64_t inputs = 3 * sizes_.history + 2 * sizes_.harmonics;
    for (int l = 0; l < m_.layers; ++l) {
      const Rows current = gate_rows(kCurrent, l);
      m_.gate[l] = large(gate_rows(kPast, l), {false, limit(l)}, &current);
    }
    const Rows input = rows(kInput, 0, m_.residual, inputs, m_.residualP);
    const std::size_t before = arena_->used();
    const Storage storage = precision_ == Precision::kFloat32 ? exact(input) : kBfloat;
    m_.input = pack_matrix(input, nullptr, storage, {}, functions_, arena_);
    m_.input_bias = pack_vector(tensor(kInputBias), m_.residual, m_.residualP, arena_);
    for (int l = 0; l < m_.layers; ++l) pack_layer(l);
    m_.skip_mix[m_.layers - 1] = skip_matrix(m_.layers - 1);
    pack_heads();
    const std::vector<float> amplitudes = level_amplitudes(sizes_);
    m_.amplitudes = pack_vector(amplitudes.data(), m_.levels, m_.levelsP, arena_);
    m_.step_bytes = static_cast<ptrdiff_t>(arena_->used() - before);
  }

 private:
  const float* tensor(int index) const { return tensors_[static_cast<size_t>(index)].data(); }

  Rows rows(int index, int64_t first, int64_t count, int64_t inputs, int64_t padded_count,
            Rows into = {}) const {
    into.inputs = inputs;
    into.append(tensor(index) + first * inputs, count, padded_count);
    return into;
  }

  // The storage of a matrix whose values must not change.
  Storage exact(const Rows& r, const Rows* second = nullptr) const {
    const bool half = fits_half(r) && (second == nullptr || fits_half(*second));
    return functions_.half_weights && half ? kHalf : kFloat;
  }

  Matrix large(const Rows& r, InputRange range, const Rows* second = nullptr) const {
    const Storage storage = precision_ == Precision::kInt8       ? kInt8
                            : precision_ == Precision::kBfloat16 ? kBfloat
                                                                 : exact(r, second);
    return pack_matrix(r, second, storage, range, functions_, arena_);
  }

  float limit(int index) const {
    return precision_ == Precision::kInt8 ? tensor(kLimits)[index] : 1.0f;
  }

  Rows gate_rows(int index, int l) const {
    const int64_t R = m_.residual;
    const Rows tanh_half = rows(index, 2 * l * R, R, R, m_.residualP);
    return rows(index, (2 * l + 1) * R, R, R, m_.residualP, tanh_half);
  }

  Matrix skip_matrix(int l) const {
    return large(rows(kSkip, l * m_.skip, m_.skip, m_.residual, m_.skipP), {});
  }

  // Matrices lie in the order in which a single stream reads them: first the past taps, which
  // several steps share, then the input, each layer's gate, the skip product of the layer before it
  // and its residual product.
  void pack_layer(int l) const {
    const int64_t R = m_.residual;
    pack_second(gate_rows(kPast, l), gate_rows(kCurrent, l), functions_, &m_.gate[l], arena_);
    if (l > 0) m_.skip_mix[l - 1] = skip_matrix(l - 1);
    if (l + 1 == m_.layers) return;
    m_.residual_mix[l] = large(rows(kResidual, l * R, R, R, m_.residualP), {});
    m_.residual_bias[l] = pack_vector(tensor(kResidualBias) + l * R, R, m_.residualP, arena_);
  }

  // [2 + 3 J][headP] of sample i of the bunch; samples whose weights are the same share them.
  const float* draw(int i) const {
    const int64_t H = m_.head, inputs = 2 + 3 * sizes_.head_history;
    const float* const weight = tensor(kDraw) + i * H * inputs;
    if (i > 0 && std::equal(weight, weight + H * inputs, weight - H * inputs))
      return m_.draw[i - 1];
    float* const columns = arena_->take<float>(static_cast<size_t>(inputs * m_.headP));
    for (int64_t h = 0; columns != nullptr && h < H; ++h)
      for (int64_t k = 0; k < inputs; ++k) columns[k * m_.headP + h] = weight[h * inputs + k];
    return columns;
  }

  void pack_heads() const {
    const int64_t S = m_.skip, H = m_.head;
    Rows heads;
    for (int i = 0; i < m_.bunch; ++i) {
      heads = rows(kBunch, i * H, H, S, m_.headP, heads);
      m_.draw[i] = draw(i);
    }
    m_.bunch_head = large(heads, {true, limit(m_.layers)});
    m_.bunch_bias = pack_vector(tensor(kBunchBias), H, m_.headP, arena_, m_.bunch);
    m_.output = large(rows(kOutput, 0, m_.levels, H, m_.levelsP), {true, limit(m_.layers + 1)});
    m_.output_bias = pack_vector(tensor(kOutputBias), m_.levels, m_.levelsP, arena_);
  }

  const WaveNetSizes& sizes_;
  const std::vector<std::vector<float>>& tensors_;
  const Precision precision_;
  const Table& functions_;
  Arena* const arena_;
  WaveNetModel& m_;
};

}  // namespace

WaveNet::WaveNet(const WaveNetSizes& sizes, const WaveNetTensors& tensors, Precision precision)
    : sizes_(sizes), precision_(precision) {
  sizes_.check();
  const float* const all[kTensors] = {
      tensors.input_weight,    tensors.input_bias,    tensors.past_weight,   tensors.current_weight,
      tensors.residual_weight, tensors.residual_bias, tensors.skip_weight,   tensors.bunch_weight,
      tensors.bunch_bias,      tensors.draw_weight,   tensors.output_weight, tensors.output_bias,
      tensors.limits};
  const std::vector<int64_t> counts = tensor_sizes(sizes_);
  for (int i = 0; i < kTensors; ++i)
    tensors_.emplace_back(all[i], all[i] == nullptr ? nullptr : all[i] + counts[i]);
  if (precision != Precision::kInt8) return;
  if (tensors.limits == nullptr)
    throw std::invalid_argument("WaveNet int8 needs limits: the largest inputs of its matrices");
  for (float value : tensors_[kLimits]) check_number("limit", value, 1e-6, 1e6);
}

WaveNet::~WaveNet() = default;

const WaveNetModel& WaveNet::model(const Table& functions) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& packed : packed_)
    if (packed->half == functions.half_weights && packed->int8_group == functions.int8_group &&
        packed->int8_zero == functions.int8_zero &&
        packed->int8_rectified_zero == functions.int8_rectified_zero)
      return packed->model;
  auto packed = std::make_unique<Packed>();
  packed->half = functions.half_weights;
  packed->int8_group = functions.int8_group;
  packed->int8_zero = functions.int8_zero;
  packed->int8_rectified_zero = functions.int8_rectified_zero;
  Packer packer(sizes_, tensors_, precision_, functions, &packed->arena, &packed->model);
  packer.pack();
  packed->arena.allocate();
  packer.pack();
  packed_.push_back(std::move(packed));
  return packed_.back()->model;
}

// Lays out the working memory of `count` streams, or counts its floats where `memory` is null. From
// one stream to the next everything is equally far: products of streams side by side rely on it.
static int64_t lay_out(const WaveNetModel& m, float* memory, WaveNetScratch* scratch, int count) {
  const int64_t width = 2 * m.residualP;
  const int64_t history = padded(kLeadIn + m.past + m.bunch);
  int64_t used = 0;
  for (int b = 0; b < count; ++b) {
    WaveNetScratch& s = scratch[b];
    struct Part {
      float** pointer;
      int64_t count;
    };
    const Part parts[] = {
        {&s.cond, m.layers * width + m.skipP},
        {&s.partial, m.layers * kPastColumns * width},
        {&s.gate, width},
        {&s.stream, m.residualP},
        {&s.skip, m.skipP},
        {&s.inputs, padded(3 * m.history + 2 * m.harmonics)},
        {&s.heads, m.bunch * m.headP},
        {&s.logits, kMaxLevels},
        {&s.weights, kMaxLevels},
        {&s.before, kBlock},
        {&s.coded_amplitudes, m.levelsP},
        {&s.lpc, m.lpcP + kBlock},
        {&s.input_code, padded(3 * m.history + 2 * m.harmonics)},
        {&s.stream_code, m.residualP},
        {&s.gated_code, m.layers * m.residualP},
        {&s.skip_code, m.skipP},
        {&s.hidden_code, m.headP},
        {&s.signal, history},
        {&s.signal_gained, history},
        {&s.signal_coded, history},
        {&s.residual, history},
        {&s.residual_coded, history},
    };
    for (const Part& part : parts) {
      *part.pointer = memory == nullptr ? nullptr : memory + used;
      used += part.count;
    }
    s.queues = reinterpret_cast<unsigned char*>(memory == nullptr ? nullptr : memory + used);
    used += m.dilation_sum * m.residualP;
  }
  return used;
}

void WaveNet::run(std::vector<WaveNetRun> runs) {
  const Table& functions = table();
  const WaveNetModel& m = model(functions);
  std::stable_sort(runs.begin(), runs.end(),
                   [](const WaveNetRun& a, const WaveNetRun& b) { return a.frames > b.frames; });
  WaveNetScratch scratch[kMaxStreams] = {};
  const int most = static_cast<int>(std::min<size_t>(runs.size(), kMaxStreams));
  if (most == 0) return;
  WaveNetScratch counted{};
  AlignedArray<float> memory;
  const int64_t floats = lay_out(m, nullptr, &counted, 1);
  const FlushDenormals flush;
  for (size_t first = 0; first < runs.size(); first += kMaxStreams) {
    const int count = static_cast<int>(std::min<size_t>(runs.size() - first, kMaxStreams));
    memory = AlignedArray<float>(static_cast<size_t>(floats * count));
    lay_out(m, memory.get(), scratch, count);
    functions.wavenet(m, scratch, runs.data() + first, count);
  }
}

int64_t WaveNet::run_paired(const WaveNetRun& run, int patience) {
  const Table& functions = table();
  const WaveNetModel& m = model(functions);
  WaveNetScratch counted{}, scratch{};
  AlignedArray<float> memory(static_cast<size_t>(lay_out(m, nullptr, &counted, 1)));
  lay_out(m, memory.get(), &scratch, 1);
  const size_t skip = static_cast<size_t>(m.skipP), heads = static_cast<size_t>(m.bunch * m.headP);
  const size_t halves = static_cast<size_t>(2 * m.layers * m.residualP);
  AlignedArray<float> partners(3 * skip + 2 * heads + (1 + 2 * kPastColumns) * halves);
  WaveNetPair pair{};
  pair.order = 1;
  pair.patience = patience;
  pair.give_way = [] { std::this_thread::yield(); };
  pair.cond = partners.get();
  pair.skip = pair.cond + halves + skip;
  pair.skip_code = pair.skip + skip;
  pair.heads[0] = pair.skip_code + skip;
  pair.heads[1] = pair.heads[0] + heads;
  pair.partial = pair.heads[1] + heads;
  std::thread partner([&] {
    const FlushDenormals flush;
    functions.wavenet_partner(m, scratch, run, &pair);
  });
  {
    const FlushDenormals flush;
    functions.wavenet_pair(m, &scratch, run, &pair);
  }
  partner.join();
  return pair.paired;
}

}  // namespace dv
