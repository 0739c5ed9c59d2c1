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
#include "wavenet_arguments.hpp"

namespace nb = nanobind;

namespace {

using dv::check_shape;
using dv::CodesIn;
using dv::CodesOut;
using dv::In;
using dv::Out;
using dv::size_of;

constexpr int kInterfaceVersion = 4;  // INTERFACE_VERSION of kernels/_dispatch.py

void generate(dv::WaveNet& net, In<2> cond, In<2> lpc, In<2> pulse, In<1> uniforms,
              In<1> temperature, float floor, Out<1> signal, Out<1> residual, Out<1> output,
              Out<2> queues, Out<1> samples, CodesOut codes) {
  const auto run =
      dv::checked_stream<dv::WaveNetRun>(net, cond, lpc, pulse, uniforms, temperature, floor,
                                         signal, residual, output, queues, samples, codes);
  const nb::gil_scoped_release unlocked;
  net.run({run});
}

// The same on two threads; returns the number of steps that they did together.
int64_t generate_paired(dv::WaveNet& net, In<2> cond, In<2> lpc, In<2> pulse, In<1> uniforms,
                        In<1> temperature, float floor, Out<1> signal, Out<1> residual,
                        Out<1> output, Out<2> queues, Out<1> samples, CodesOut codes,
                        int patience) {
  if (patience < 0) throw std::invalid_argument("patience must be at least 0");
  const auto run =
      dv::checked_stream<dv::WaveNetRun>(net, cond, lpc, pulse, uniforms, temperature, floor,
                                         signal, residual, output, queues, samples, codes);
  const nb::gil_scoped_release unlocked;
  return net.run_paired(run, patience);
}

// Each stream is a tuple of the arguments of `generate`; the caller keeps their arrays alive.
void generate_many(dv::WaveNet& net, const std::vector<nb::tuple>& streams) {
  std::vector<dv::WaveNetRun> runs;
  for (const nb::tuple& s : streams) {
    if (s.size() != 12) throw std::invalid_argument("a stream must be a tuple of 12 arguments");
    runs.push_back(dv::checked_stream<dv::WaveNetRun>(
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
  const auto run = dv::checked_given<dv::WaveNetRun>(net, cond, lpc, pulse, codes, signal, residual,
                                                     output, queues, samples, logits);
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
  nb::class_<dv::WaveNet> wavenet(m, "WaveNet");
  dv::bind_constructor(wavenet);
  wavenet
      .def("generate", &generate, "cond"_a.noconvert(), "lpc"_a.noconvert(), "pulse"_a.noconvert(),
           "uniforms"_a.noconvert(), "temperature"_a.noconvert(), "floor"_a, "signal"_a.noconvert(),
           "residual"_a.noconvert(), "output"_a.noconvert(), "queues"_a.noconvert(),
           "samples"_a.noconvert(), "codes"_a.noconvert())
      .def("generate_paired", &generate_paired, "cond"_a.noconvert(), "lpc"_a.noconvert(),
           "pulse"_a.noconvert(), "uniforms"_a.noconvert(), "temperature"_a.noconvert(), "floor"_a,
           "signal"_a.noconvert(), "residual"_a.noconvert(), "output"_a.noconvert(),
           "queues"_a.noconvert(), "samples"_a.noconvert(), "codes"_a.noconvert(),
           "patience"_a = dv::WaveNet::kPatience)
      .def("generate_many", &generate_many, "streams"_a,
           nb::sig("def generate_many(self, streams: collections.abc.Sequence[tuple[object, ...]]) "
                   "-> None"))
      .def("teacher_forced", &teacher_forced, "cond"_a.noconvert(), "lpc"_a.noconvert(),
           "pulse"_a.noconvert(), "codes"_a.noconvert(), "signal"_a.noconvert(),
           "residual"_a.noconvert(), "output"_a.noconvert(), "queues"_a.noconvert(),
           "samples"_a.noconvert(), "logits"_a.noconvert());
}
