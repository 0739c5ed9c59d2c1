// Python bindings of the CPU kernels: every size is checked here, nothing is computed here.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "../cpu/dispatch.hpp"
#include "../cpu/wavenet.hpp"
#include "checks.hpp"
#include "layers.hpp"
#include "viterbi.hpp"

namespace nb = nanobind;

namespace {

using dv::check_shape;
using dv::In;
using dv::Out;
using dv::size_of;
using CodesIn = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using CodesOut = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

constexpr int kInterfaceVersion = 3;  // INTERFACE_VERSION of kernels/_dispatch.py

void make_wavenet(dv::WaveNet* self, int64_t hop, int64_t bunch,
                  const std::vector<int64_t>& dilations, int64_t residual, int64_t skip,
                  int64_t head, int64_t levels, int64_t history, int64_t head_history,
                  int64_t harmonics, int64_t lpc_order, double pre_emphasis, double signal_gain,
                  double code_scale, In<2> input_weight, In<1> input_bias, In<3> past_weight,
                  In<3> current_weight, In<3> residual_weight, In<2> residual_bias,
                  In<3> skip_weight, In<2> bunch_weight, In<1> bunch_bias, In<3> draw_weight,
                  In<2> output_weight, In<1> output_bias, const std::optional<In<1>>& limits,
                  int precision) {
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
  if (limits.has_value()) check_shape("limits", *limits, {L + 2});
  if (precision < 0 || precision > 2)
    throw std::invalid_argument("WaveNet precision must be 0, 1 or 2");
  const dv::WaveNetTensors tensors{input_weight.data(),
                                   input_bias.data(),
                                   past_weight.data(),
                                   current_weight.data(),
                                   residual_weight.data(),
                                   residual_bias.data(),
                                   skip_weight.data(),
                                   bunch_weight.data(),
                                   bunch_bias.data(),
                                   draw_weight.data(),
                                   output_weight.data(),
                                   output_bias.data(),
                                   limits.has_value() ? limits->data() : nullptr};
  new (self) dv::WaveNet(z, tensors, static_cast<dv::Precision>(precision));
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

dv::WaveNetRun checked_stream(const dv::WaveNet& net, const In<2>& cond, const In<2>& lpc,
                              const In<2>& pulse, const In<1>& uniforms, const In<1>& temperature,
                              float floor, Out<1> signal, Out<1> residual, Out<1> output,
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
  return run;
}

void generate(dv::WaveNet& net, In<2> cond, In<2> lpc, In<2> pulse, In<1> uniforms,
              In<1> temperature, float floor, Out<1> signal, Out<1> residual, Out<1> output,
              Out<2> queues, Out<1> samples, CodesOut codes) {
  const dv::WaveNetRun run = checked_stream(net, cond, lpc, pulse, uniforms, temperature, floor,
                                            signal, residual, output, queues, samples, codes);
  const nb::gil_scoped_release unlocked;
  net.run({run});
}

// Each stream is a tuple of the arguments of `generate`; the caller keeps their arrays alive.
void generate_many(dv::WaveNet& net, const std::vector<nb::tuple>& streams) {
  std::vector<dv::WaveNetRun> runs;
  for (const nb::tuple& s : streams) {
    if (s.size() != 12) throw std::invalid_argument("a stream must be a tuple of 12 arguments");
    runs.push_back(checked_stream(
        net, nb::cast<In<2>>(s[0], false), nb::cast<In<2>>(s[1], false),
        nb::cast<In<2>>(s[2], false), nb::cast<In<1>>(s[3], false), nb::cast<In<1>>(s[4], false),
        nb::cast<float>(s[5]), nb::cast<Out<1>>(s[6], false), nb::cast<Out<1>>(s[7], false),
        nb::cast<Out<1>>(s[8], false), nb::cast<Out<2>>(s[9], false),
        nb::cast<Out<1>>(s[10], false), nb::cast<CodesOut>(s[11], false)));
  }
  const nb::gil_scoped_release unlocked;
  net.run(std::move(runs));
}

// sums [columns, outputs] of a matrix that is quantised as a WaveNet's are, for tests.
void int8_sums(In<2> weight, In<2> x, bool rectified, float limit,
               nb::ndarray<int32_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> sums) {
  const int64_t outputs = size_of(weight, 0), inputs = size_of(weight, 1), columns = size_of(x, 0);
  if (outputs < 1 || outputs > 65536 || inputs < 1 || inputs > 1024)
    throw std::invalid_argument("weight has more than 65536 outputs or 1024 inputs, or none");
  if (!(limit >= 1e-6f && limit <= 1e6f)) throw std::invalid_argument("limit must be positive");
  const int64_t width = dv::padded(static_cast<int>(outputs));
  check_shape("x", x, {columns, inputs});
  check_shape("sums", sums, {columns, width});
  const dv::Table& functions = dv::table();
  const dv::PackedMatrix packed(weight.data(), outputs, inputs, rectified, limit, functions);
  functions.int8_sums(packed.matrix(), x.data(), columns, sums.data());
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
  net.run({run});
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
  dv::bind_layers(m);
  dv::bind_viterbi(m);
  m.def("int8_sums", &int8_sums, "weight"_a.noconvert(), "x"_a.noconvert(), "rectified"_a,
        "limit"_a, "sums"_a.noconvert());
  nb::class_<dv::WaveNet>(m, "WaveNet")
      .def("__init__", &make_wavenet, nb::kw_only(), "hop"_a, "bunch"_a, "dilations"_a,
           "residual"_a, "skip"_a, "head"_a, "levels"_a, "history"_a, "head_history"_a,
           "harmonics"_a, "lpc_order"_a, "pre_emphasis"_a, "signal_gain"_a, "code_scale"_a,
           "input_weight"_a.noconvert(), "input_bias"_a.noconvert(), "past_weight"_a.noconvert(),
           "current_weight"_a.noconvert(), "residual_weight"_a.noconvert(),
           "residual_bias"_a.noconvert(), "skip_weight"_a.noconvert(), "bunch_weight"_a.noconvert(),
           "bunch_bias"_a.noconvert(), "draw_weight"_a.noconvert(), "output_weight"_a.noconvert(),
           "output_bias"_a.noconvert(), "limits"_a.noconvert().none(), "precision"_a)
      .def("generate", &generate, "cond"_a.noconvert(), "lpc"_a.noconvert(), "pulse"_a.noconvert(),
           "uniforms"_a.noconvert(), "temperature"_a.noconvert(), "floor"_a, "signal"_a.noconvert(),
           "residual"_a.noconvert(), "output"_a.noconvert(), "queues"_a.noconvert(),
           "samples"_a.noconvert(), "codes"_a.noconvert())
      .def("generate_many", &generate_many, "streams"_a,
           nb::sig("def generate_many(self, streams: collections.abc.Sequence[tuple[object, ...]]) "
                   "-> None"))
      .def("teacher_forced", &teacher_forced, "cond"_a.noconvert(), "lpc"_a.noconvert(),
           "pulse"_a.noconvert(), "codes"_a.noconvert(), "signal"_a.noconvert(),
           "residual"_a.noconvert(), "output"_a.noconvert(), "queues"_a.noconvert(),
           "samples"_a.noconvert(), "logits"_a.noconvert());
}
