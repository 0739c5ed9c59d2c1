// Python bindings of the CPU kernels: every size is checked here, nothing is computed here.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>

#include "../cpu/dispatch.hpp"
#include "../cpu/memory.hpp"
#include "../cpu/wavenet.hpp"

namespace nb = nanobind;

namespace {

constexpr int kInterfaceVersion = 1;  // INTERFACE_VERSION of kernels/_dispatch.py

template <int kDims>
using In = nb::ndarray<const float, nb::ndim<kDims>, nb::c_contig, nb::device::cpu>;
template <int kDims>
using Out = nb::ndarray<float, nb::ndim<kDims>, nb::c_contig, nb::device::cpu>;
using CodesIn = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using CodesOut = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using OptionalBias = const std::optional<In<1>>&;

template <class Array>
void check_shape(const char* name, const Array& array, std::initializer_list<int64_t> wanted) {
  size_t axis = 0;
  for (const int64_t size : wanted) {
    if (static_cast<int64_t>(array.shape(axis)) != size)
      throw std::invalid_argument(std::string(name) + ": axis " + std::to_string(axis) + " has " +
                                  std::to_string(array.shape(axis)) + " entries, expected " +
                                  std::to_string(size));
    ++axis;
  }
}

template <class Array>
int64_t size_of(const Array& array, size_t axis) {
  return static_cast<int64_t>(array.shape(axis));
}

int checked_activation(int activation) {
  if (activation < dv::kNone || activation > dv::kSigmoid)
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
  dv::table().elementary(static_cast<int>(found - kNames), x.data(), y.data(), size_of(x, 0));
}

void dense(In<2> x, In<2> weight, OptionalBias bias, int activation, Out<2> y) {
  const int64_t rows = size_of(x, 0), inputs = size_of(x, 1), outputs = size_of(weight, 0);
  check_shape("weight_OI", weight, {outputs, inputs});
  check_shape("y_TO", y, {rows, outputs});
  const float* const b = checked_bias(bias, outputs);
  checked_activation(activation);
  const dv::Table& functions = dv::table();
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
  const dv::Table& functions = dv::table();
  const nb::gil_scoped_release unlocked;
  dv::AlignedArray<float> windows(static_cast<size_t>(std::min(kRows, rows) * taps * inputs));
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
  const dv::Table& functions = dv::table();
  const nb::gil_scoped_release unlocked;
  const dv::FlushDenormals flush;
  dv::AlignedArray<float> input(static_cast<size_t>(std::min(kRows, rows) * 3 * hidden));
  dv::AlignedArray<float> recurrent(static_cast<size_t>(3 * hidden));
  std::copy(h0.data(), h0.data() + hidden, h.data());
  for (int64_t done = 0; done < rows; done += kRows) {
    const int64_t count = std::min(kRows, rows - done);
    const int64_t first = reverse ? rows - done - count : done;
    functions.dense(x.data() + first * inputs, count, inputs, w_ih.data(), b_ih.data(), 3 * hidden,
                    dv::kNone, input.get());
    for (int64_t i = 0; i < count; ++i) {
      const int64_t row = reverse ? count - 1 - i : i;
      functions.dense(h.data(), 1, hidden, w_hh.data(), b_hh.data(), 3 * hidden, dv::kNone,
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
  const dv::Table& functions = dv::table();
  const nb::gil_scoped_release unlocked;
  const dv::FlushDenormals flush;
  std::copy(h0.data(), h0.data() + hidden, cell.data());
  functions.qrnn_pool(candidate.data(), forget.data(), output.data(), rows, hidden, cell.data(),
                      y.data());
}

void make_wavenet(dv::WaveNet* self, int64_t hop, int64_t bunch,
                  const std::vector<int64_t>& dilations, int64_t residual, int64_t skip,
                  int64_t head, int64_t levels, int64_t history, int64_t head_history,
                  int64_t harmonics, int64_t lpc_order, double pre_emphasis, double signal_gain,
                  double code_scale, In<2> input_weight, In<1> input_bias, In<3> past_weight,
                  In<3> current_weight, In<3> residual_weight, In<2> residual_bias,
                  In<3> skip_weight, In<2> bunch_weight, In<1> bunch_bias, In<3> draw_weight,
                  In<2> output_weight, In<1> output_bias) {
  const dv::WaveNetSizes z{hop,       bunch,        dilations,   residual,     skip,
                           head,      levels,       history,     head_history, harmonics,
                           lpc_order, pre_emphasis, signal_gain, code_scale};
  z.check();  // before any product of sizes
  const int64_t R = residual, S = skip, H = head, L = z.layers(), N = bunch;
  check_shape("input_weight", input_weight, {R, 3 * history + 2 * harmonics});
  check_shape("input_bias", input_bias, {R});
  check_shape("past_weight", past_weight, {L, 2 * R, R});
  check_shape("current_weight", current_weight, {L, 2 * R, R});
  check_shape("residual_weight", residual_weight, {L - 1, R, R});
  check_shape("residual_bias", residual_bias, {L - 1, R});
  check_shape("skip_weight", skip_weight, {L, S, R});
  check_shape("bunch_weight", bunch_weight, {N * H, S});
  check_shape("bunch_bias", bunch_bias, {N * H});
  check_shape("draw_weight", draw_weight, {N, H, 2 + 3 * head_history});
  check_shape("output_weight", output_weight, {levels, H});
  check_shape("output_bias", output_bias, {levels});
  const dv::WaveNetTensors tensors{
      input_weight.data(),    input_bias.data(),    past_weight.data(),   current_weight.data(),
      residual_weight.data(), residual_bias.data(), skip_weight.data(),   bunch_weight.data(),
      bunch_bias.data(),      draw_weight.data(),   output_weight.data(), output_bias.data()};
  new (self) dv::WaveNet(z, tensors);
}

// The inputs and the state, checked, that both runs share.
dv::WaveNetRun checked_run(const dv::WaveNet& net, const In<2>& cond, const In<2>& lpc,
                           const In<2>& pulse, Out<1>& signal, Out<1>& residual, Out<1>& output,
                           Out<2>& queues, Out<1>& samples) {
  const dv::WaveNetSizes& z = net.sizes();
  dv::WaveNetRun run{};
  run.frames = size_of(cond, 0);
  check_shape("cond_FC", cond, {run.frames, z.conditioning()});
  check_shape("lpc_FK", lpc, {run.frames, z.lpc_order});
  check_shape("pulse_NQ2", pulse, {run.frames * (z.hop / z.bunch), 2 * z.harmonics});
  check_shape("state.signal", signal, {z.past()});
  check_shape("state.residual", residual, {z.past()});
  check_shape("state.output", output, {1});
  check_shape("state.queues_DR", queues, {z.dilation_sum(), z.residual});
  check_shape("samples", samples, {run.frames * z.hop});
  run.cond = cond.data();
  run.lpc = lpc.data();
  run.pulse = pulse.data();
  run.signal = signal.data();
  run.residual = residual.data();
  run.output = output.data();
  run.queues = queues.data();
  run.samples = samples.data();
  return run;
}

void generate(dv::WaveNet& net, In<2> cond, In<2> lpc, In<2> pulse, In<1> uniforms,
              In<1> temperature, float floor, Out<1> signal, Out<1> residual, Out<1> output,
              Out<2> queues, Out<1> samples, CodesOut codes) {
  dv::WaveNetRun run =
      checked_run(net, cond, lpc, pulse, signal, residual, output, queues, samples);
  check_shape("uniforms_T", uniforms, {size_of(samples, 0)});
  check_shape("temperature_F", temperature, {run.frames});
  check_shape("codes", codes, {size_of(samples, 0)});
  run.uniforms = uniforms.data();
  run.temperature = temperature.data();
  run.floor = floor;
  run.codes = codes.data();
  const nb::gil_scoped_release unlocked;
  net.run(run);
}

void teacher_forced(dv::WaveNet& net, In<2> cond, In<2> lpc, In<2> pulse, CodesIn codes,
                    Out<1> signal, Out<1> residual, Out<1> output, Out<2> queues, Out<1> samples,
                    Out<2> logits) {
  dv::WaveNetRun run =
      checked_run(net, cond, lpc, pulse, signal, residual, output, queues, samples);
  check_shape("codes", codes, {size_of(samples, 0)});
  check_shape("logits", logits, {size_of(samples, 0), net.sizes().levels});
  const uint8_t* const end = codes.data() + size_of(samples, 0);
  if (std::any_of(codes.data(), end, [&](uint8_t c) { return c >= net.sizes().levels; }))
    throw std::invalid_argument("codes must be below the number of levels");
  run.given = codes.data();
  run.logits = logits.data();
  const nb::gil_scoped_release unlocked;
  net.run(run);
}

}  // namespace

NB_MODULE(_cpu, m) {
  using nb::literals::operator""_a;
  m.doc() =
      "CPU kernels of deepvoice. Use them through deepvoice.kernels, which checks and documents "
      "arguments.";
  m.attr("interface_version") = kInterfaceVersion;
  m.def("supported_isas", &dv::supported_isas,
        "Instruction sets that this build has and this machine runs, slowest first.");
  m.def("isa", [] { return std::string(dv::table().name); }, "The instruction set in use.");
  m.def("set_isa", &dv::set_isa, "name"_a, "Use another supported instruction set from now on.");
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
  nb::class_<dv::WaveNet>(m, "WaveNet")
      .def("__init__", &make_wavenet, nb::kw_only(), "hop"_a, "bunch"_a, "dilations"_a,
           "residual"_a, "skip"_a, "head"_a, "levels"_a, "history"_a, "head_history"_a,
           "harmonics"_a, "lpc_order"_a, "pre_emphasis"_a, "signal_gain"_a, "code_scale"_a,
           "input_weight"_a.noconvert(), "input_bias"_a.noconvert(), "past_weight"_a.noconvert(),
           "current_weight"_a.noconvert(), "residual_weight"_a.noconvert(),
           "residual_bias"_a.noconvert(), "skip_weight"_a.noconvert(), "bunch_weight"_a.noconvert(),
           "bunch_bias"_a.noconvert(), "draw_weight"_a.noconvert(), "output_weight"_a.noconvert(),
           "output_bias"_a.noconvert())
      .def("generate", &generate, "cond"_a.noconvert(), "lpc"_a.noconvert(), "pulse"_a.noconvert(),
           "uniforms"_a.noconvert(), "temperature"_a.noconvert(), "floor"_a, "signal"_a.noconvert(),
           "residual"_a.noconvert(), "output"_a.noconvert(), "queues"_a.noconvert(),
           "samples"_a.noconvert(), "codes"_a.noconvert())
      .def("teacher_forced", &teacher_forced, "cond"_a.noconvert(), "lpc"_a.noconvert(),
           "pulse"_a.noconvert(), "codes"_a.noconvert(), "signal"_a.noconvert(),
           "residual"_a.noconvert(), "output"_a.noconvert(), "queues"_a.noconvert(),
           "samples"_a.noconvert(), "logits"_a.noconvert());
}
