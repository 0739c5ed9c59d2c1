#include "cuda_layers.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "../cuda/layer.hpp"
#include "checks.hpp"

namespace dv {
namespace {

using cuda::Activation;
using cuda::Buffer;
using cuda::DeviceLayer;
using cuda::StreamHandle;
using cuda::thread_stream;
using OptionalBias = const std::optional<In<1>>&;

Activation checked_activation(int activation) {
  if (activation < cuda::kNone || activation > cuda::kSigmoid)
    throw std::invalid_argument("unknown activation " + std::to_string(activation));
  return static_cast<Activation>(activation);
}

const float* checked_bias(OptionalBias bias, int64_t outputs) {
  if (!bias.has_value()) return nullptr;
  check_shape("bias_O", *bias, {outputs});
  return bias->data();
}

void check_taps(int64_t taps, int64_t dilation) {
  if (taps < 1 || taps > 65536 || dilation < 1 || dilation > 65536)
    throw std::invalid_argument("taps and dilation must be from 1 to 65536");
}

// Sizes that the kernels count with 32 bits.
void check_sizes(int64_t outputs, int64_t taps, int64_t inputs) {
  constexpr int64_t kMost = 1 << 16;
  if (outputs > kMost || taps > kMost || inputs > kMost || outputs * taps > kMost * 1024 / inputs)
    throw std::invalid_argument("weight_OKI has more than 65536 entries on an axis, or 67108864");
}

template <class Array>
Buffer<float> to_device(const Array& array, StreamHandle stream) {
  return Buffer<float>(array.data(), array.size(), stream);
}

// Runs a layer over host arrays and waits for the result.
void apply(const DeviceLayer& layer, const In<2>& x, int64_t left, int64_t dilation,
           Activation activation, const Out<2>& y) {
  const StreamHandle stream = thread_stream();
  const Buffer<float> given = to_device(x, stream), made(y.size(), stream);
  cuda::affine(layer.weights(), given.get(), size_of(x, 0), left, dilation, activation, nullptr,
               made.get(), stream);
  made.copy_to(y.data());
  cuda::wait(stream);
}

void elementary(const std::string& name, In<1> x, Out<1> y) {
  static const char* const kNames[] = {"tanh", "sigmoid", "exp", "log"};
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) throw std::invalid_argument("unknown function " + name);
  check_shape("y", y, {size_of(x, 0)});
  const StreamHandle stream = thread_stream();
  const Buffer<float> given = to_device(x, stream), made(y.size(), stream);
  cuda::elementary(static_cast<int>(found - kNames), given.get(), made.get(), size_of(x, 0),
                   stream);
  made.copy_to(y.data());
  cuda::wait(stream);
}

void conv1d(In<2> x, In<3> weight, OptionalBias bias, int64_t dilation, int activation, bool causal,
            Out<2> y) {
  const int64_t rows = size_of(x, 0), inputs = size_of(x, 1);
  const int64_t outputs = size_of(weight, 0), taps = size_of(weight, 1);
  check_shape("weight_OKI", weight, {outputs, taps, inputs});
  check_shape("y_TO", y, {rows, outputs});
  const float* const b = checked_bias(bias, outputs);
  const Activation chosen = checked_activation(activation);
  check_taps(taps, dilation);
  if (inputs > 0) check_sizes(outputs, taps, inputs);
  const int64_t left = (causal ? taps - 1 : taps / 2) * dilation;
  const nb::gil_scoped_release unlocked;
  const DeviceLayer layer(weight.data(), b, outputs, taps, inputs, false);
  apply(layer, x, left, dilation, chosen, y);
}

void dense(In<2> x, In<2> weight, OptionalBias bias, int activation, Out<2> y) {
  const int64_t rows = size_of(x, 0), inputs = size_of(x, 1), outputs = size_of(weight, 0);
  check_shape("weight_OI", weight, {outputs, inputs});
  check_shape("y_TO", y, {rows, outputs});
  const float* const b = checked_bias(bias, outputs);
  const Activation chosen = checked_activation(activation);
  if (inputs > 0) check_sizes(outputs, 1, inputs);
  const nb::gil_scoped_release unlocked;
  const DeviceLayer layer(weight.data(), b, outputs, 1, inputs, false);
  apply(layer, x, 0, 1, chosen, y);
}

// A sequence of a GRU in host memory. `h` is the state before, then after it.
struct GruRun {
  const DeviceLayer *input, *recurrent;
  const float* x;
  int64_t rows;
  bool reverse;
  float *h, *y;
};

// Runs sequences of layers with as many units: their input parts one by one, their recurrent parts
// in one launch.
void run_grus(const std::vector<GruRun>& runs) {
  if (runs.empty()) return;
  const int hidden = runs[0].recurrent->weights().inputs;
  const StreamHandle stream = thread_stream();
  struct OnDevice {
    Buffer<float> inputs, state, y;
  };
  std::vector<OnDevice> buffers;
  std::vector<cuda::GruSequence> sequences;
  for (const GruRun& run : runs) {
    const cuda::AffineWeights& given = run.input->weights();
    const auto rows = static_cast<size_t>(run.rows), units = static_cast<size_t>(hidden);
    const Buffer<float> x(run.x, rows * static_cast<size_t>(given.inputs), stream);
    OnDevice b{Buffer<float>(3 * units * rows, stream), Buffer<float>(run.h, units, stream),
               Buffer<float>(units * rows, stream)};
    cuda::affine(given, x.get(), run.rows, 0, 1, cuda::kNone, nullptr, b.inputs.get(), stream);
    sequences.push_back({run.recurrent->arranged(), run.recurrent->gru_bias(), b.inputs.get(),
                         b.state.get(), b.y.get(), run.rows, run.reverse ? 1 : 0});
    buffers.push_back(std::move(b));
  }
  const auto count = static_cast<int64_t>(runs.size());
  cuda::run_gru(cuda::plan_gru(hidden, count, cuda::device_info()), sequences, stream);
  for (size_t i = 0; i < runs.size(); ++i) {
    buffers[i].state.copy_to(runs[i].h);
    buffers[i].y.copy_to(runs[i].y);
  }
  cuda::wait(stream);
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
  for (const int64_t depth : {inputs, hidden})
    if (depth > 0) check_sizes(3 * hidden, 1, depth);
  const nb::gil_scoped_release unlocked;
  std::copy(h0.data(), h0.data() + hidden, h.data());
  if (hidden == 0) return;
  const DeviceLayer input(w_ih.data(), b_ih.data(), 3 * hidden, 1, inputs, false);
  const DeviceLayer recurrent(w_hh.data(), b_hh.data(), 3 * hidden, 1, hidden, false);
  run_grus({{&input, &recurrent, x.data(), rows, reverse, h.data(), y.data()}});
}

// A sequence of quasi-recurrent gates in host memory.
struct QrnnRun {
  In<2> candidate, forget, output;
  Out<2> y;
  Out<1> cell;
};

void run_qrnns(const std::vector<QrnnRun>& runs) {
  if (runs.empty()) return;
  const StreamHandle stream = thread_stream();
  struct OnDevice {
    Buffer<float> candidate, forget, output, cell, y;
  };
  std::vector<OnDevice> buffers;
  std::vector<cuda::QrnnSequence> sequences;
  for (const QrnnRun& run : runs) {
    OnDevice b{to_device(run.candidate, stream), to_device(run.forget, stream),
               to_device(run.output, stream), to_device(run.cell, stream),
               Buffer<float>(run.y.size(), stream)};
    sequences.push_back({b.candidate.get(), b.forget.get(), b.output.get(), b.cell.get(), b.y.get(),
                         size_of(run.y, 0)});
    buffers.push_back(std::move(b));
  }
  cuda::run_qrnn(static_cast<int>(size_of(runs[0].cell, 0)), sequences, stream);
  for (size_t i = 0; i < runs.size(); ++i) {
    buffers[i].cell.copy_to(runs[i].cell.data());
    buffers[i].y.copy_to(runs[i].y.data());
  }
  cuda::wait(stream);
}

QrnnRun checked_qrnn(In<2> candidate, In<2> forget, In<2> output, Out<2> y, Out<1> cell) {
  const int64_t rows = size_of(candidate, 0), hidden = size_of(candidate, 1);
  if (hidden > 1 << 20) throw std::invalid_argument("candidate_TH has more than 1048576 channels");
  check_shape("forget_TH", forget, {rows, hidden});
  check_shape("output_TH", output, {rows, hidden});
  check_shape("y_TH", y, {rows, hidden});
  check_shape("c_H", cell, {hidden});
  return {candidate, forget, output, y, cell};
}

void qrnn_pool(In<2> candidate, In<2> forget, In<2> output, In<1> h0, Out<2> y, Out<1> cell) {
  const QrnnRun run = checked_qrnn(candidate, forget, output, y, cell);
  check_shape("h0_H", h0, {size_of(candidate, 1)});
  const nb::gil_scoped_release unlocked;
  std::copy(h0.data(), h0.data() + h0.size(), cell.data());
  run_qrnns({run});
}

// Each sequence is a tuple (candidate, forget, output, cell before and after, y).
void qrnn_pool_many(const std::vector<nb::tuple>& sequences) {
  std::vector<QrnnRun> runs;
  for (const nb::tuple& s : sequences) {
    if (s.size() != 5) throw std::invalid_argument("a sequence must be a tuple of 5 arrays");
    runs.push_back(checked_qrnn(nb::cast<In<2>>(s[0], false), nb::cast<In<2>>(s[1], false),
                                nb::cast<In<2>>(s[2], false), nb::cast<Out<2>>(s[4], false),
                                nb::cast<Out<1>>(s[3], false)));
    check_shape("c_H", runs.back().cell, {size_of(runs[0].cell, 0)});
  }
  const nb::gil_scoped_release unlocked;
  run_qrnns(runs);
}

void make_layer(DeviceLayer* self, In<3> weight, OptionalBias bias, bool bfloat) {
  const int64_t outputs = size_of(weight, 0), taps = size_of(weight, 1),
                inputs = size_of(weight, 2);
  if (outputs < 1 || taps < 1 || inputs < 1)
    throw std::invalid_argument("weight_OKI: every axis must have at least one entry");
  check_sizes(outputs, taps, inputs);
  const float* const b = checked_bias(bias, outputs);
  new (self) DeviceLayer(weight.data(), b, outputs, taps, inputs, bfloat);
}

void apply_layer(const DeviceLayer& layer, In<2> x, int64_t dilation, int activation, bool causal,
                 Out<2> y) {
  const cuda::AffineWeights& weights = layer.weights();
  check_shape("x_TI", x, {size_of(x, 0), weights.inputs});
  check_shape("y_TO", y, {size_of(x, 0), weights.outputs});
  const Activation chosen = checked_activation(activation);
  check_taps(weights.taps, dilation);
  const int64_t left = (causal ? weights.taps - 1 : weights.taps / 2) * dilation;
  const nb::gil_scoped_release unlocked;
  apply(layer, x, left, dilation, chosen, y);
}

void residual_layer(const DeviceLayer& layer, In<2> x, In<1> norm_weight, In<1> norm_bias,
                    int64_t dilation, Out<2> y) {
  const cuda::AffineWeights& weights = layer.weights();
  const int64_t rows = size_of(x, 0);
  if (weights.outputs != weights.inputs || weights.taps % 2 == 0)
    throw std::invalid_argument("a residual layer has as many outputs as inputs and centred taps");
  check_shape("x_TC", x, {rows, weights.inputs});
  check_shape("norm_weight_C", norm_weight, {weights.inputs});
  check_shape("norm_bias_C", norm_bias, {weights.inputs});
  check_shape("y_TC", y, {rows, weights.outputs});
  check_taps(weights.taps, dilation);
  const nb::gil_scoped_release unlocked;
  const StreamHandle stream = thread_stream();
  const Buffer<float> given = to_device(x, stream), scale = to_device(norm_weight, stream),
                      shift = to_device(norm_bias, stream), normed(x.size(), stream),
                      made(y.size(), stream);
  cuda::layer_norm(given.get(), scale.get(), shift.get(), rows, weights.inputs, normed.get(),
                   stream);
  cuda::affine(weights, normed.get(), rows, weights.taps / 2 * dilation, dilation, cuda::kRelu,
               given.get(), made.get(), stream);
  made.copy_to(y.data());
  cuda::wait(stream);
}

void norm_rows(In<2> x, In<1> weight, In<1> bias, Out<2> y) {
  const int64_t rows = size_of(x, 0), channels = size_of(x, 1);
  if (channels > INT32_MAX) throw std::invalid_argument("x_TC has more than 2147483647 channels");
  check_shape("weight_C", weight, {channels});
  check_shape("bias_C", bias, {channels});
  check_shape("y_TC", y, {rows, channels});
  const nb::gil_scoped_release unlocked;
  const StreamHandle stream = thread_stream();
  const Buffer<float> given = to_device(x, stream), scale = to_device(weight, stream),
                      shift = to_device(bias, stream), made(y.size(), stream);
  cuda::layer_norm(given.get(), scale.get(), shift.get(), rows, static_cast<int>(channels),
                   made.get(), stream);
  made.copy_to(y.data());
  cuda::wait(stream);
}

GruRun checked_gru(const DeviceLayer& input, const DeviceLayer& recurrent, const In<2>& x,
                   bool reverse, const Out<1>& h, const Out<2>& y) {
  const cuda::AffineWeights &given = input.weights(), &fed_back = recurrent.weights();
  const int64_t rows = size_of(x, 0), hidden = fed_back.inputs;
  if (given.outputs != 3 * hidden || fed_back.outputs != 3 * hidden || given.taps != 1 ||
      fed_back.taps != 1)
    throw std::invalid_argument("the layers of a GRU have three outputs a unit and one tap");
  check_shape("x_TI", x, {rows, given.inputs});
  check_shape("h_H", h, {hidden});
  check_shape("y_TH", y, {rows, hidden});
  return {&input, &recurrent, x.data(), rows, reverse, h.data(), y.data()};
}

void packed_gru(const DeviceLayer& input, const DeviceLayer& recurrent, In<2> x, bool reverse,
                Out<1> h, Out<2> y) {
  const GruRun run = checked_gru(input, recurrent, x, reverse, h, y);
  const nb::gil_scoped_release unlocked;
  run_grus({run});
}

// Each sequence is a tuple of the arguments of `packed_gru`; the caller keeps their arrays alive.
void packed_gru_many(const std::vector<nb::tuple>& sequences) {
  std::vector<GruRun> runs;
  for (const nb::tuple& s : sequences) {
    if (s.size() != 6) throw std::invalid_argument("a sequence must be a tuple of 6 arguments");
    runs.push_back(checked_gru(nb::cast<const DeviceLayer&>(s[0]),
                               nb::cast<const DeviceLayer&>(s[1]), nb::cast<In<2>>(s[2], false),
                               nb::cast<bool>(s[3]), nb::cast<Out<1>>(s[4], false),
                               nb::cast<Out<2>>(s[5], false)));
    if (runs.back().recurrent->weights().inputs != runs[0].recurrent->weights().inputs)
      throw std::invalid_argument("sequences that run together have layers of as many units");
  }
  const nb::gil_scoped_release unlocked;
  run_grus(runs);
}

// How a recurrent layer would be spread.
std::map<std::string, int> gru_plan(int hidden, int64_t sequences) {
  if (hidden < 1) throw std::invalid_argument("a GRU has at least one unit");
  const cuda::GruPlan p = cuda::plan_gru(hidden, sequences, cuda::device_info());
  return {{"cluster", p.cluster},
          {"units", p.units},
          {"lanes", p.lanes},
          {"threads", p.threads},
          {"passes", p.passes},
          {"quads", p.quads},
          {"resident", p.resident},
          {"shared", p.shared},
          {"sequences", p.sequences},
          {"padded", p.padded},
          {"shared_bytes", p.shared_bytes}};
}

}  // namespace

void bind_cuda_layers(nb::module_& m) {
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
  m.def("qrnn_pool_many", &qrnn_pool_many, "sequences"_a);
  m.def("layer_norm", &norm_rows, "x"_a.noconvert(), "weight"_a.noconvert(), "bias"_a.noconvert(),
        "y"_a.noconvert());
  m.def("packed_gru", &packed_gru, "input"_a, "recurrent"_a, "x"_a.noconvert(), "reverse"_a,
        "h"_a.noconvert(), "y"_a.noconvert());
  m.def("packed_gru_many", &packed_gru_many, "sequences"_a);
  m.def("gru_plan", &gru_plan, "hidden"_a, "sequences"_a,
        "How a GRU of so many units and sequences side by side would be spread.");
  nb::class_<DeviceLayer>(m, "Layer")
      .def("__init__", &make_layer, "weight"_a.noconvert(), "bias"_a.noconvert().none(), "bfloat"_a)
      .def("apply", &apply_layer, "x"_a.noconvert(), "dilation"_a, "activation"_a, "causal"_a,
           "y"_a.noconvert())
      .def("residual", &residual_layer, "x"_a.noconvert(), "norm_weight"_a.noconvert(),
           "norm_bias"_a.noconvert(), "dilation"_a, "y"_a.noconvert());
}

}  // namespace dv
