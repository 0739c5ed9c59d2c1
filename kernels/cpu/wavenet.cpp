#include "wavenet.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>

#include "dispatch.hpp"

namespace dv {
namespace {

constexpr int kInput = 0, kInputBias = 1, kPast = 2, kCurrent = 3, kResidual = 4, kResidualBias = 5,
              kSkip = 6, kBunch = 7, kBunchBias = 8, kDraw = 9, kOutput = 10, kOutputBias = 11,
              kTensors = 12;

void check_range(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value < low || value > high)
    throw std::invalid_argument(std::string("WaveNet ") + name + " is " + std::to_string(value) +
                                ", expected " + std::to_string(low) + " to " +
                                std::to_string(high));
}

void check_number(const char* name, double value, double low, double high) {
  if (!(value >= low && value <= high))
    throw std::invalid_argument(std::string("WaveNet ") + name + " is " + std::to_string(value) +
                                ", expected " + std::to_string(low) + " to " +
                                std::to_string(high));
}

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
          z.levels};
}

// Half-precision bits of a float that half precision holds exactly; false for any other.
bool to_half(float value, uint16_t* half) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000u, mantissa = bits & 0x7fffffu;
  const int exponent = static_cast<int>(bits >> 23 & 0xffu) - 127;
  if ((bits & 0x7fffffffu) == 0) {
    *half = static_cast<uint16_t>(sign);
    return true;
  }
  if (exponent > 15 || exponent < -24) return false;
  if (exponent >= -14) {
    if (mantissa & 0x1fffu) return false;
    *half =
        static_cast<uint16_t>(sign | static_cast<uint32_t>(exponent + 15) << 10 | mantissa >> 13);
    return true;
  }
  const int shift = -exponent - 1;  // of the full mantissa, so that its unit is 2^-24
  const uint32_t full = mantissa | 0x800000u;
  if (full & ((1u << shift) - 1u)) return false;
  *half = static_cast<uint16_t>(sign | full >> shift);
  return true;
}

// A row of a matrix before packing: `inputs` floats, or null for a row of zeros.
using Rows = std::vector<const float*>;

void append(Rows* rows, const float* first, int64_t count, int64_t inputs, int64_t padded_count) {
  for (int64_t r = 0; r < padded_count; ++r)
    rows->push_back(r < count ? first + r * inputs : nullptr);
}

bool fits_half(const Rows& rows, int64_t inputs) {
  uint16_t ignored;
  for (const float* row : rows) {
    if (row == nullptr) continue;
    for (int64_t i = 0; i < inputs; ++i)
      if (!to_half(row[i], &ignored)) return false;
  }
  return true;
}

void store_weight(float value, float* to) { *to = value; }
void store_weight(float value, uint16_t* to) { to_half(value, to); }

template <class W>
void fill_panels(const Rows& rows, int64_t inputs, W* to) {
  const int64_t outputs = static_cast<int64_t>(rows.size());
  for (int64_t first = 0; first < outputs; first += kPanel) {
    const int64_t width = std::min<int64_t>(kPanel, outputs - first);
    for (int64_t i = 0; i < inputs; ++i)
      for (int64_t o = 0; o < width; ++o, ++to)
        store_weight(rows[first + o] == nullptr ? 0.0f : rows[first + o][i], to);
  }
}

}  // namespace

int64_t WaveNetSizes::past() const { return std::max({history, head_history, lpc_order}); }

int64_t WaveNetSizes::dilation_sum() const {
  return std::accumulate(dilations.begin(), dilations.end(), int64_t{0});
}

void WaveNetSizes::check() const {
  check_range("hop", hop, 1, 4096);
  check_range("bunch", bunch, 1, kMaxLayers);
  if (hop % bunch != 0) throw std::invalid_argument("WaveNet bunch does not divide the hop");
  check_range("number of layers", layers(), 1, kMaxLayers);
  for (int64_t d : dilations) check_range("dilation", d, 1, 4096);
  check_range("sum of dilations", dilation_sum(), 1, 65536);
  check_range("residual", residual, 1, 512);
  check_range("skip", skip, 1, 1024);
  check_range("head", head, 1, 512);
  check_range("levels", levels, 2, kMaxLevels);
  check_range("history", history, 1, 256);
  check_range("head_history", head_history, 1, 256);
  check_range("harmonics", harmonics, 0, 64);
  check_range("lpc_order", lpc_order, 0, kLeadIn);
  check_number("pre_emphasis", pre_emphasis, 0.0, 0.99);
  check_number("signal_gain", signal_gain, 1e-3, 1e3);
  check_number("code_scale", code_scale, 1e-3, 1e3);
}

struct WaveNet::Packed {
  WaveNetModel model{};
  std::vector<AlignedArray<unsigned char>> memory;

  Matrix matrix(const Rows& rows, int64_t inputs, bool half) {
    half = half && fits_half(rows, inputs);
    const size_t count = rows.size() * static_cast<size_t>(inputs);
    memory.emplace_back(count * (half ? sizeof(uint16_t) : sizeof(float)));
    unsigned char* data = memory.back().get();
    if (half) {
      fill_panels(rows, inputs, reinterpret_cast<uint16_t*>(data));
    } else {
      fill_panels(rows, inputs, reinterpret_cast<float*>(data));
    }
    return {data, static_cast<int>(rows.size()), static_cast<int>(inputs), half};
  }

  // `count` values padded to `padded_count`, `repeats` times.
  const float* vector(const float* values, int64_t count, int64_t padded_count,
                      int64_t repeats = 1) {
    memory.emplace_back(static_cast<size_t>(padded_count * repeats) * sizeof(float));
    float* data = reinterpret_cast<float*>(memory.back().get());
    for (int64_t r = 0; r < repeats; ++r)
      std::copy(values + r * count, values + (r + 1) * count, data + r * padded_count);
    return data;
  }
};

WaveNet::WaveNet(const WaveNetSizes& sizes, const WaveNetTensors& tensors) : sizes_(sizes) {
  sizes_.check();
  const float* const all[kTensors] = {
      tensors.input_weight,    tensors.input_bias,    tensors.past_weight,   tensors.current_weight,
      tensors.residual_weight, tensors.residual_bias, tensors.skip_weight,   tensors.bunch_weight,
      tensors.bunch_bias,      tensors.draw_weight,   tensors.output_weight, tensors.output_bias};
  const std::vector<int64_t> counts = tensor_sizes(sizes_);
  for (int i = 0; i < kTensors; ++i) tensors_.emplace_back(all[i], all[i] + counts[i]);
}

WaveNet::~WaveNet() = default;

const WaveNetModel& WaveNet::model(bool half) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!packed_[half]) packed_[half] = pack(half);
  return packed_[half]->model;
}

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

static std::vector<float> level_amplitudes(const WaveNetSizes& z) {
  std::vector<float> amplitudes;
  const double mu = static_cast<double>(z.levels - 1);
  for (int64_t a = 0; a < z.levels; ++a) {
    const double position = static_cast<double>(a) / mu * 2.0 - 1.0;
    const double magnitude =
        std::expm1(std::fabs(position) * std::log(static_cast<double>(z.levels))) / mu;
    amplitudes.push_back(static_cast<float>(std::copysign(magnitude / z.code_scale, position)));
  }
  return amplitudes;
}

std::unique_ptr<WaveNet::Packed> WaveNet::pack(bool half) const {
  auto packed = std::make_unique<Packed>();
  WaveNetModel& m = packed->model;
  set_sizes(sizes_, &m);
  const int64_t R = m.residual, S = m.skip, H = m.head;
  const auto rows = [&](int tensor, int64_t first, int64_t count, int64_t inputs,
                        int64_t padded_count, Rows into = {}) {
    append(&into, tensors_[tensor].data() + first * inputs, count, inputs, padded_count);
    return into;
  };
  const int64_t trunk_inputs = 3 * sizes_.history + 2 * sizes_.harmonics;
  const int64_t head_inputs = 2 + 3 * sizes_.head_history;
  m.input = packed->matrix(rows(kInput, 0, R, trunk_inputs, m.residualP), trunk_inputs, half);
  m.input_bias = packed->vector(tensors_[kInputBias].data(), R, m.residualP);
  for (int l = 0; l < m.layers; ++l) {
    const auto gate = [&](int tensor) {
      const Rows tanh_half = rows(tensor, 2 * l * R, R, R, m.residualP);
      return packed->matrix(rows(tensor, (2 * l + 1) * R, R, R, m.residualP, tanh_half), R, half);
    };
    m.past_gate[l] = gate(kPast);
    m.current_gate[l] = gate(kCurrent);
    const bool last = l + 1 == m.layers;
    const Rows residual_rows = last ? Rows() : rows(kResidual, l * R, R, R, m.residualP);
    m.mix[l] = packed->matrix(rows(kSkip, l * S, S, R, m.skipP, residual_rows), R, half);
    m.residual_bias[l] =
        last ? nullptr : packed->vector(tensors_[kResidualBias].data() + l * R, R, m.residualP);
  }
  Rows heads;
  for (int i = 0; i < m.bunch; ++i) {
    heads = rows(kBunch, i * H, H, S, m.headP, heads);
    m.draw[i] = packed->matrix(rows(kDraw, i * H, H, head_inputs, m.headP), head_inputs, half);
  }
  m.bunch_head = packed->matrix(heads, S, half);
  m.bunch_bias = packed->vector(tensors_[kBunchBias].data(), H, m.headP, m.bunch);
  m.output = packed->matrix(rows(kOutput, 0, m.levels, H, m.levelsP), H, half);
  m.output_bias = packed->vector(tensors_[kOutputBias].data(), m.levels, m.levelsP);
  const std::vector<float> amplitudes = level_amplitudes(sizes_);
  m.amplitudes = packed->vector(amplitudes.data(), m.levels, m.levelsP);
  return packed;
}

void WaveNet::run(const WaveNetRun& run) {
  const Table& functions = table();
  const WaveNetModel& m = model(functions.half_weights);
  const int64_t width = 2 * m.residualP;
  const int64_t history = padded(kLeadIn + m.past + m.bunch);
  const int64_t inputs = padded(std::max(3 * m.history + 2 * m.harmonics, 2 + 3 * m.head_history));
  WaveNetScratch scratch{};
  struct Part {
    float** pointer;
    int64_t count;
  };
  const Part parts[] = {
      {&scratch.cond, m.layers * width + m.skipP},
      {&scratch.gates, m.layers * kPastColumns * width},
      {&scratch.gate, width},
      {&scratch.gated, m.residualP},
      {&scratch.mix, m.residualP + m.skipP},
      {&scratch.inputs, inputs},
      {&scratch.heads, m.bunch * m.headP},
      {&scratch.hidden, m.headP},
      {&scratch.logits, m.levelsP},
      {&scratch.chances, m.levelsP},
      {&scratch.lpc, m.lpcP},
      {&scratch.signal, history},
      {&scratch.signal_gained, history},
      {&scratch.signal_coded, history},
      {&scratch.residual, history},
      {&scratch.residual_coded, history},
      {&scratch.queues, m.dilation_sum * m.residualP},
  };
  int64_t total = 0;
  for (const Part& part : parts) total += part.count;
  AlignedArray<float> memory(static_cast<size_t>(total));
  float* next = memory.get();
  for (const Part& part : parts) {
    *part.pointer = next;
    next += part.count;
  }
  const FlushDenormals flush;
  functions.wavenet(m, scratch, run);
}

}  // namespace dv
