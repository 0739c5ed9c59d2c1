// The arguments of a WaveNet from Python, checked: the same for every module that has one.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "../cpu/sizes.hpp"
#include "checks.hpp"

namespace dv {

using CodesIn = nb::ndarray<const uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using CodesOut = nb::ndarray<uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Checks every size, then makes a network of the tensors.
template <class Net>
void make_wavenet(Net* self, int64_t hop, int64_t bunch, const std::vector<int64_t>& dilations,
                  int64_t residual, int64_t skip, int64_t head, int64_t levels, int64_t history,
                  int64_t head_history, int64_t harmonics, int64_t lpc_order, double pre_emphasis,
                  double signal_gain, double code_scale, In<2> input_weight, In<1> input_bias,
                  In<3> past_weight, In<3> current_weight, In<3> residual_weight,
                  In<2> residual_bias, In<3> skip_weight, In<2> bunch_weight, In<1> bunch_bias,
                  In<3> draw_weight, In<2> output_weight, In<1> output_bias,
                  const std::optional<In<1>>& limits, int precision) {
  const WaveNetSizes z{hop,       bunch,        dilations,   residual,     skip,
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
  const WaveNetTensors tensors{input_weight.data(),
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
  new (self) Net(z, tensors, static_cast<Precision>(precision));
}

template <class Net>
void bind_constructor(nb::class_<Net>& c) {
  using nb::literals::operator""_a;
  c.def("__init__", &make_wavenet<Net>, nb::kw_only(), "hop"_a, "bunch"_a, "dilations"_a,
        "residual"_a, "skip"_a, "head"_a, "levels"_a, "history"_a, "head_history"_a, "harmonics"_a,
        "lpc_order"_a, "pre_emphasis"_a, "signal_gain"_a, "code_scale"_a,
        "input_weight"_a.noconvert(), "input_bias"_a.noconvert(), "past_weight"_a.noconvert(),
        "current_weight"_a.noconvert(), "residual_weight"_a.noconvert(),
        "residual_bias"_a.noconvert(), "skip_weight"_a.noconvert(), "bunch_weight"_a.noconvert(),
        "bunch_bias"_a.noconvert(), "draw_weight"_a.noconvert(), "output_weight"_a.noconvert(),
        "output_bias"_a.noconvert(), "limits"_a.noconvert().none(), "precision"_a);
}

// The inputs and the state, checked, that both runs share.
template <class Run, class Net>
Run checked_run(const Net& net, const In<2>& cond, const In<2>& lpc, const In<2>& pulse,
                Out<1>& signal, Out<1>& residual, Out<1>& output, Out<2>& queues, Out<1>& samples) {
  const WaveNetSizes& z = net.sizes();
  Run run{};
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

template <class Run, class Net>
Run checked_stream(const Net& net, const In<2>& cond, const In<2>& lpc, const In<2>& pulse,
                   const In<1>& uniforms, const In<1>& temperature, float floor, Out<1> signal,
                   Out<1> residual, Out<1> output, Out<2> queues, Out<1> samples, CodesOut codes) {
  Run run = checked_run<Run>(net, cond, lpc, pulse, signal, residual, output, queues, samples);
  check_shape("uniforms_T", uniforms, {size_of(samples, 0)});
  check_shape("temperature_F", temperature, {run.frames});
  check_shape("codes", codes, {size_of(samples, 0)});
  run.uniforms = uniforms.data();
  run.temperature = temperature.data();
  run.floor = floor;
  run.codes = codes.data();
  return run;
}

// The codes are given, the logits are wanted.
template <class Run, class Net>
Run checked_given(const Net& net, const In<2>& cond, const In<2>& lpc, const In<2>& pulse,
                  const CodesIn& codes, Out<1>& signal, Out<1>& residual, Out<1>& output,
                  Out<2>& queues, Out<1>& samples, Out<2>& logits) {
  Run run = checked_run<Run>(net, cond, lpc, pulse, signal, residual, output, queues, samples);
  check_shape("codes", codes, {size_of(samples, 0)});
  check_shape("logits", logits, {size_of(samples, 0), net.sizes().levels});
  const uint8_t* const end = codes.data() + size_of(samples, 0);
  if (std::any_of(codes.data(), end, [&](uint8_t c) { return c >= net.sizes().levels; }))
    throw std::invalid_argument("codes must be below the number of levels");
  run.given = codes.data();
  run.logits = logits.data();
  return run;
}

}  // namespace dv
