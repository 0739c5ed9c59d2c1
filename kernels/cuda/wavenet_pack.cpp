#include "wavenet_pack.hpp"

#include <algorithm>
#include <cstring>

#include "../cpu/half.hpp"

namespace dv::cuda {
namespace {

int64_t aligned(int64_t bytes) { return (bytes + 15) / 16 * 16; }

}  // namespace

int64_t Packing::width(const Matrix& matrix) const {
  return matrix.wide || storage_ == WeightStorage::kFloatWeights ? 4 : 2;
}

// Rows 8 of the tanh half, 8 of the sigmoid half; inputs the past ones, then the current ones.
Packing::Matrix Packing::gate(Stage* stage, int layer) const {
  const int64_t R = z_.residual, RP = z_.residualP;
  const TensorCopies* const t = tensors_;
  return {&stage->gate[layer], 2 * RP, 2 * RP, false,
          [R, RP, layer, t](int64_t row, int64_t input) {
            const int64_t unit = row / 16 * 8 + row % 8, half = row % 16 / 8;
            const auto& from = input < RP ? t->past_weight : t->current_weight;
            const int64_t k = input % RP;
            if (unit >= R || k >= R) return 0.0f;
            return from[static_cast<size_t>(((layer * 2 + half) * R + unit) * R + k)];
          }};
}

// Rows of the residual's matrix (the last layer has none), then of the skip's.
Packing::Matrix Packing::mix(Stage* stage, int layer) const {
  const int64_t R = z_.residual, S = z_.skip;
  const int64_t first_skip = layer + 1 < z_.layers ? z_.residualP : 0;
  const TensorCopies* const t = tensors_;
  return {&stage->mix[layer], first_skip + z_.skipP, z_.residualP, false,
          [R, S, first_skip, layer, t](int64_t row, int64_t k) {
            if (k >= R) return 0.0f;
            if (row < first_skip)
              return row < R ? t->residual_weight[static_cast<size_t>((layer * R + row) * R + k)]
                             : 0.0f;
            const int64_t s = row - first_skip;
            return s < S ? t->skip_weight[static_cast<size_t>((layer * S + s) * R + k)] : 0.0f;
          }};
}

Packing::Matrix Packing::draw(Stage* stage, int sample) const {
  const int64_t H = z_.head, inputs = 2 + 3 * z_.head_history;
  const TensorCopies* const t = tensors_;
  return {&stage->draw[sample], z_.headP, z_.drawP, storage_ == WeightStorage::kBfloatWeights,
          [H, inputs, sample, t](int64_t row, int64_t k) {
            if (row >= H || k >= inputs) return 0.0f;
            return t->draw_weight[static_cast<size_t>((sample * H + row) * inputs + k)];
          }};
}

// In the order in which they get room in shared memory: what a step reads most often comes first.
std::vector<Packing::Matrix> Packing::matrices_of(Stage* s) const {
  const TensorCopies* const t = tensors_;
  const int64_t H = z_.head, HP = z_.headP, S = z_.skip, A = z_.levels, R = z_.residual;
  const int64_t inputs = 3 * z_.history + 2 * z_.harmonics, first = s->first_sample;
  std::vector<Matrix> all;
  if (s->last_sample > s->first_sample) {
    all.push_back({&s->output, z_.levelsP, HP, false, [=](int64_t row, int64_t k) {
                     return row < A && k < H ? t->output_weight[static_cast<size_t>(row * H + k)]
                                             : 0.0f;
                   }});
    for (int i = s->first_sample; i < s->last_sample; ++i) all.push_back(draw(s, i));
  }
  for (int l = s->first_layer; l < s->last_layer; ++l) {
    all.push_back(gate(s, l));
    all.push_back(mix(s, l));
  }
  if (s->has_input != 0)
    all.push_back({&s->input, z_.residualP, z_.inputP, false, [=](int64_t row, int64_t k) {
                     return row < R && k < inputs
                                ? t->input_weight[static_cast<size_t>(row * inputs + k)]
                                : 0.0f;
                   }});
  if (s->last_sample > s->first_sample)
    all.push_back(
        {&s->bunch, (s->last_sample - first) * HP, z_.skipP, false, [=](int64_t row, int64_t k) {
           const int64_t h = row % HP, from = (first + row / HP) * H + h;
           return h < H && k < S ? t->bunch_weight[static_cast<size_t>(from * S + k)] : 0.0f;
         }});
  return all;
}

void Packing::place_vectors(Stage* s) {
  int64_t at = 0;
  const auto take = [&at](int64_t count) {
    const int64_t here = at;
    at += aligned(count * 4);
    return static_cast<int>(here);
  };
  if (s->has_input != 0) s->input_bias = take(z_.residualP);
  for (int l = s->first_layer; l < s->last_layer; ++l) s->residual_bias[l] = take(z_.residualP);
  if (s->last_sample > s->first_sample) {
    s->bunch_bias = take(int64_t{s->last_sample - s->first_sample} * z_.headP);
    s->output_bias = take(z_.levelsP);
    s->amplitudes = take(z_.levelsP);
  }
  vector_bytes_ = at;
}

void Packing::put(const float* values, int64_t count, int64_t at) {
  std::memcpy(weights_.data() + start_ + at, values, static_cast<size_t>(count) * sizeof(float));
}

void Packing::write_vectors(const Stage& s) {
  const int64_t R = z_.residual, H = z_.head;
  if (s.has_input != 0) put(tensors_->input_bias.data(), R, s.input_bias);
  for (int l = s.first_layer; l < s.last_layer && l + 1 < z_.layers; ++l)
    put(tensors_->residual_bias.data() + l * R, R, s.residual_bias[l]);
  if (s.last_sample == s.first_sample) return;
  for (int i = s.first_sample; i < s.last_sample; ++i)
    put(tensors_->bunch_bias.data() + i * H, H,
        s.bunch_bias + int64_t{i - s.first_sample} * z_.headP * 4);
  put(tensors_->output_bias.data(), z_.levels, s.output_bias);
  put(tensors_->amplitudes.data(), z_.levels, s.amplitudes);
}

void Packing::write(const Matrix& m) {
  unsigned char* const base = weights_.data() + start_ + m.place->offset;
  const int64_t bytes = width(m);
  for (int64_t row = 0; row < m.rows; ++row) {
    for (int64_t k = 0; k < m.inputs; ++k) {
      const int64_t tile = row / kTile, chunk = k / kTile, lane = row % 8 * 4 + k % kTile / 4;
      const int64_t at = (tile * (m.inputs / kTile) + chunk) * kTile * kTile +
                         row % kTile / 8 * 128 + lane * 4 + k % 4;
      const float weight = m.weight(row, k);
      if (bytes == 4) {
        std::memcpy(base + at * 4, &weight, 4);
        continue;
      }
      uint16_t bits = 0;
      if (storage_ == WeightStorage::kBfloatWeights)
        bits = to_bfloat(weight);
      else
        to_half_exactly(weight, &bits);
      std::memcpy(base + at * 2, &bits, 2);
    }
  }
}

void Packing::pack(int shared_bytes, Plan* plan) {
  const int64_t room = (shared_bytes - plan->layout.weights) / 16 * 16;
  int64_t most = 0;
  plan->streamed_bytes = 0;
  for (Stage& s : plan->stages) {
    place_vectors(&s);
    int64_t resident = vector_bytes_ <= room ? vector_bytes_ : 0, streamed = 0;
    s.resident_vectors = vector_bytes_ <= room ? 1 : 0;
    std::vector<Matrix> matrices = matrices_of(&s);
    int64_t end = vector_bytes_;
    for (const Matrix& m : matrices) {
      const int64_t bytes = m.rows * m.inputs * width(m);
      m.place->resident = s.resident_vectors != 0 && resident + bytes <= room ? 1 : 0;
      if (m.place->resident == 0) continue;
      m.place->offset = end;
      end += bytes;
      resident = end;
    }
    for (const Matrix& m : matrices) {
      if (m.place->resident != 0) continue;
      m.place->offset = end;
      end += m.rows * m.inputs * width(m);
      streamed += m.rows * m.inputs * width(m);
    }
    s.resident_bytes = static_cast<int>(resident);
    s.weights = start_;
    if (tensors_ != nullptr) {
      weights_.resize(static_cast<size_t>(start_ + end), 0);
      write_vectors(s);
      for (const Matrix& m : matrices) write(m);
    }
    start_ += end;
    most = std::max(most, resident);
    plan->streamed_bytes = std::max(plan->streamed_bytes, streamed);
  }
  plan->layout.bytes = plan->layout.weights + static_cast<int>(most);
  plan->weights = std::move(weights_);
}

}  // namespace dv::cuda
