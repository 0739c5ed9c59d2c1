#include "layers.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>

#include "../cpu/dispatch.hpp"
#include "../cpu/memory.hpp"
#include "../cpu/packed_layer.hpp"
#include "checks.hpp"

namespace dv {
namespace {

using OptionalBias = const std::optional<In<1>>&;

int checked_activation(int activation) {
  if (activation < kNone || activation > kSigmoid)
    throw std::invalid_argument("unknown activation " + std::to_string(activation));
  return activation;
}

const float* checked_bias(OptionalBias bias, int64_t outputs) {
  if (!bias.has_value()) return nullptr;
  check_shape("bias_O", *bias, {outputs});
  return bias->data();
}

void elementary(const std::string& name, In<1> x, Out<1> y) {
  static const char* const kNames[] = {"tanh", "sigmoid", "exp", "log"};
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) throw std::invalid_argument("unknown function " + name);
  check_shape("y", y, {size_of(x, 0)});
  table().elementary(static_cast<int>(found - kNames), x.data(), y.data(), size_of(x, 0));
}

void dense(In<2> x, In<2> weight, OptionalBias bias, int activation, Out<2> y) {
  const int64_t rows = size_of(x, 0), inputs = size_of(x, 1), outputs = size_of(weight, 0);
  check_shape("weight_OI", weight, {outputs, inputs});
  check_shape("y_TO", y, {rows, outputs});
  const float* const b = checked_bias(bias, outputs);
  checked_activation(activation);
  const Table& functions = table();
  const nb::gil_scoped_release unlocked;
  functions.dense(x.data(), rows, inputs, weight.data(), b, outputs, activation, y.data());
}

// Copies the windows of `count` rows from `first` on: [count, taps, inputs], zeros outside x.
void gather_windows(const float* x, int64_t rows, int64_t inputs, int64_t taps, int64_t dilation,
                    int64_t left, int64_t first, int64_t count, float* windows) {
  for (int64_t t = first; t < first + count; ++t) {
    for (int64_t k = 0; k < taps; ++k, windows += inputs) {
      const int64_t row = t + k * dilation - left;
      if (row >= 0 && row < rows) {
        std::copy(x + row * inputs, x + (row + 1) * inputs, windows);
      } else {
        std::fill(windows, windows + inputs, 0.0f);
      }
    }
  }
}

void conv1d(In<2> x, In<3> weight, OptionalBias bias, int64_t dilation, int activation, bool causal,
            Out<2> y) {
  const int64_t rows = size_of(x, 0), inputs = size_of(x, 1);
  const int64_t outputs = size_of(weight, 0), taps = size_of(weight, 1);
  check_shape("weight_OKI", weight, {outputs, taps, inputs});
  check_shape("y_TO", y, {rows, outputs});
  const float* const b = checked_bias(bias, outputs);
  checked_activation(activation);
  if (taps < 1 || taps > 65536 || dilation < 1 || dilation > 65536)
    throw std::invalid_argument("taps and dilation must be from 1 to 65536");
  const int64_t left = (causal ? taps - 1 : taps / 2) * dilation;
  constexpr int64_t kRows = 32;  // windows that are copied together, so that they stay in the cache
  const Table& functions = table();
  const nb::gil_scoped_release unlocked;
  AlignedArray<float> windows(static_cast<size_t>(std::min(kRows, rows) * taps * inputs));
  for (int64_t t = 0; t < rows; t += kRows) {
    const int64_t count = std::min(kRows, rows - t);
    gather_windows(x.data(), rows, inputs, taps, dilation, left, t, count, windows.get());
    functions.dense(windows.get(), count, taps * inputs, weight.data(), b, outputs, activation,
                    y.data() + t * outputs);
  }
}

void gru(In<2> x, In<2> w_ih, In<2> w_hh, In<1> b_ih, In<1> b_hh, In<1> h0, bool reverse, Out<2> y,
         Out<1> h) {
  const int64_t rows = size_of(x, 0), inputs = size_of(x, 1), hidden = size_of(h, 0);
  check_shape("w_ih_GI", w_ih, {3 * hidden, inputs});
  check_shape("w_hh_GH", w_hh, {3 * hidden, hidden});
  check_shape("b_ih_G", b_ih, {3 * hidden});
  check_shape("b_hh_G", b_hh, {3 * hidden});
  check_shape("h0_H", h0, {hidden});
  check_shape("y_TH", y, {rows, hidden});
  constexpr int64_t kRows = 64;  // rows whose input parts are computed together
  const Table& functions = table();
  const nb::gil_scoped_release unlocked;
  const FlushDenormals flush;
  AlignedArray<float> input(static_cast<size_t>(std::min(kRows, rows) * 3 * hidden));
  AlignedArray<float> recurrent(static_cast<size_t>(3 * hidden));
  std::copy(h0.data(), h0.data() + hidden, h.data());
  for (int64_t done = 0; done < rows; done += kRows) {
    const int64_t count = std::min(kRows, rows - done);
    const int64_t first = reverse ? rows - done - count : done;
    functions.dense(x.data() + first * inputs, count, inputs, w_ih.data(), b_ih.data(), 3 * hidden,
                    kNone, input.get());
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = reverse ? count - 1 - i : i;
      functions.dense(h.data(), 1, hidden, w_hh.data(), b_hh.data(), 3 * hidden, kNone,
                      recurrent.get());
      functions.gru_gates(input.get() + row * 3 * hidden, recurrent.get(), hidden, h.data(),
                          y.data() + (first + row) * hidden);
    }
  }
}

void qrnn_pool(In<2> candidate, In<2> forget, In<2> output, In<1> h0, Out<2> y, Out<1> cell) {
  const int64_t rows = size_of(candidate, 0), hidden = size_of(candidate, 1);
  check_shape("forget_TH", forget, {rows, hidden});
  check_shape("output_TH", output, {rows, hidden});
  check_shape("h0_H", h0, {hidden});
  check_shape("y_TH", y, {rows, hidden});
  check_shape("c_H", cell, {hidden});
  const Table& functions = table();
  const nb::gil_scoped_release unlocked;
  const FlushDenormals flush;
  std::copy(h0.data(), h0.data() + hidden, cell.data());
  functions.qrnn_pool(candidate.data(), forget.data(), output.data(), rows, hidden, cell.data(),
                      y.data());
}

void make_layer(PackedLayer* self, In<3> weight, OptionalBias bias, bool bfloat) {
  const int64_t outputs = size_of(weight, 0), taps = size_of(weight, 1),
                inputs = size_of(weight, 2);
  constexpr int64_t kMost = 1 << 16;
  for (const int64_t size : {outputs, taps, inputs})
    if (size < 1 || size > kMost)
      throw std::invalid_argument("weight_OKI: every axis must have 1 to 65536 entries");
  if (outputs * taps > kMost * 1024 / inputs)
    throw std::invalid_argument("weight_OKI has more than 67108864 entries");
  new (self) PackedLayer(weight.data(), checked_bias(bias, outputs), outputs, taps, inputs, bfloat);
}

void apply_layer(const PackedLayer& packed, In<2> x, int64_t dilation, int activation, bool causal,
                 Out<2> y) {
  const Layer& layer = packed.layer();
  const int64_t rows = size_of(x, 0);
  check_shape("x_TI", x, {rows, layer.inputs});
  check_shape("y_TO", y, {rows, layer.outputs});
  checked_activation(activation);
  if (dilation < 1 || dilation > 65536) throw std::invalid_argument("dilation must be 1 to 65536");
  const int64_t left = (causal ? layer.taps - 1 : layer.taps / 2) * dilation;
  const nb::gil_scoped_release unlocked;
  const FlushDenormals flush;
  packed.apply(x.data(), rows, left, dilation, activation, y.data());
}

void residual_layer(const PackedLayer& packed, In<2> x, In<1> norm_weight, In<1> norm_bias,
                    int64_t dilation, Out<2> y) {
  const Layer& layer = packed.layer();
  const int64_t rows = size_of(x, 0);
  if (layer.outputs != layer.inputs || layer.taps % 2 == 0)
    throw std::invalid_argument("a residual layer has as many outputs as inputs and centred taps");
  check_shape("x_TC", x, {rows, layer.inputs});
  check_shape("norm_weight_C", norm_weight, {layer.inputs});
  check_shape("norm_bias_C", norm_bias, {layer.inputs});
  check_shape("y_TC", y, {rows, layer.outputs});
  if (dilation < 1 || dilation > 65536) throw std::invalid_argument("dilation must be 1 to 65536");
  const nb::gil_scoped_release unlocked;
  const FlushDenormals flush;
  packed.residual(x.data(), norm_weight.data(), norm_bias.data(), rows, dilation, y.data());
}

void norm_rows(In<2> x, In<1> weight, In<1> bias, Out<2> y) {
  const int64_t rows = size_of(x, 0), channels = size_of(x, 1);
  check_shape("weight_C", weight, {channels});
  check_shape("bias_C", bias, {channels});
  check_shape("y_TC", y, {rows, channels});
  const nb::gil_scoped_release unlocked;
  layer_norm(x.data(), weight.data(), bias.data(), rows, channels, y.data());
}

void packed_gru(const PackedLayer& input, const PackedLayer& recurrent, In<2> x, bool reverse,
                Out<1> h, Out<2> y) {
  const Layer &given = input.layer(), &fed_back = recurrent.layer();
  const int64_t rows = size_of(x, 0), hidden = fed_back.inputs;
  if (given.outputs != 3 * hidden || fed_back.outputs != 3 * hidden || given.taps != 1 ||
      fed_back.taps != 1)
    throw std::invalid_argument("the layers of a GRU have three outputs a unit and one tap");
  check_shape("x_TI", x, {rows, given.inputs});
  check_shape("h_H", h, {hidden});
  check_shape("y_TH", y, {rows, hidden});
  const nb::gil_scoped_release unlocked;
  const FlushDenormals flush;
  run_gru(input, recurrent, x.data(), rows, reverse, h.data(), y.data());
}

int64_t multiply_adds(int kind, int64_t rounds) {
  if (kind < 0 || kind > 2 || rounds < 0)
    throw std::invalid_argument("kind must be 0 to 2 and rounds at least 0");
  const nb::gil_scoped_release unlocked;
  return table().multiply_adds(kind, rounds);
}

float read_all(In<1> data, int64_t rounds) {
  if (size_of(data, 0) % 128 != 0)
    throw std::invalid_argument("data must have a multiple of 128 entries");
  const nb::gil_scoped_release unlocked;
  return table().read_all(data.data(), size_of(data, 0), rounds);
}

}  // namespace

void bind_layers(nb::module_& m) {
  using nb::literals::operator""_a;
  m.def("elementary", &elementary, "name"_a, "x"_a.noconvert(), "y"_a.noconvert());
  m.def("dense", &dense, "x"_a.noconvert(), "weight"_a.noconvert(), "bias"_a.noconvert().none(),
        "activation"_a, "y"_a.noconvert());
  m.def("conv1d", &conv1d, "x"_a.noconvert(), "weight"_a.noconvert(), "bias"_a.noconvert().none(),
        "dilation"_a, "activation"_a, "causal"_a, "y"_a.noconvert());
  m.def("gru", &gru, "x"_a.noconvert(), "w_ih"_a.noconvert(), "w_hh"_a.noconvert(),
        "b_ih"_a.noconvert(), "b_hh"_a.noconvert(), "h0"_a.noconvert(), "reverse"_a,
        "y"_a.noconvert(), "h"_a.noconvert());
  m.def("qrnn_pool", &qrnn_pool, "candidate"_a.noconvert(), "forget"_a.noconvert(),
        "output"_a.noconvert(), "h0"_a.noconvert(), "y"_a.noconvert(), "c"_a.noconvert());
  m.def(
      "bfloat_products", [] { return table().bfloat_products; },
      "Whether the instruction set in use multiplies bfloat16 numbers by itself.");
  m.def("layer_norm", &norm_rows, "x"_a.noconvert(), "weight"_a.noconvert(), "bias"_a.noconvert(),
        "y"_a.noconvert());
  m.def("packed_gru", &packed_gru, "input"_a, "recurrent"_a, "x"_a.noconvert(), "reverse"_a,
        "h"_a.noconvert(), "y"_a.noconvert());
  m.def("multiply_adds", &multiply_adds, "kind"_a, "rounds"_a,
        "Do multiply-adds from registers, for timing; returns how many.");
  m.def("read_all", &read_all, "data"_a.noconvert(), "rounds"_a, "Read an array, for timing.");
  nb::class_<PackedLayer>(m, "Layer")
      .def("__init__", &make_layer, "weight"_a.noconvert(), "bias"_a.noconvert().none(), "bfloat"_a)
      .def("apply", &apply_layer, "x"_a.noconvert(), "dilation"_a, "activation"_a, "causal"_a,
           "y"_a.noconvert())
      .def("residual", &residual_layer, "x"_a.noconvert(), "norm_weight"_a.noconvert(),
           "norm_bias"_a.noconvert(), "dilation"_a, "y"_a.noconvert());
}

}  // namespace dv
