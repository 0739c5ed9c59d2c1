#include "cuda_wavenet.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../cuda/wavenet_net.hpp"
#include "wavenet_arguments.hpp"

namespace dv {
namespace {

using Net = cuda::WaveNet;
using cuda::HostPiece;

// A stream is a tuple of the arguments of _cpu.WaveNet.generate. In place of the uniforms it may
// have a tuple of seed, sentence and number of the first sample: then the kernel draws them itself.
HostPiece piece_of(const Net& net, const nb::tuple& s) {
  if (s.size() != 12) throw std::invalid_argument("a stream must be a tuple of 12 arguments");
  auto cond = nb::cast<In<2>>(s[0], false);
  auto lpc = nb::cast<In<2>>(s[1], false);
  auto pulse = nb::cast<In<2>>(s[2], false);
  auto temperature = nb::cast<In<1>>(s[4], false);
  const auto floor = nb::cast<float>(s[5]);
  auto signal = nb::cast<Out<1>>(s[6], false);
  auto residual = nb::cast<Out<1>>(s[7], false);
  auto output = nb::cast<Out<1>>(s[8], false);
  auto queues = nb::cast<Out<2>>(s[9], false);
  auto samples = nb::cast<Out<1>>(s[10], false);
  auto codes = nb::cast<CodesOut>(s[11], false);
  if (!nb::isinstance<nb::tuple>(s[3]))
    return checked_stream<HostPiece>(net, cond, lpc, pulse, nb::cast<In<1>>(s[3], false),
                                     temperature, floor, signal, residual, output, queues, samples,
                                     codes);
  const auto key = nb::cast<nb::tuple>(s[3]);
  if (key.size() != 3) throw std::invalid_argument("a key is (seed, sentence, first sample)");
  // The samples stand in for the numbers while sizes are checked; they have the same one.
  const nb::object stand_in = nb::borrow(s[10]);
  HostPiece piece = checked_stream<HostPiece>(net, cond, lpc, pulse,
                                              nb::cast<In<1>>(stand_in, false), temperature, floor,
                                              signal, residual, output, queues, samples, codes);
  piece.uniforms = nullptr;
  piece.seed = nb::cast<uint64_t>(key[0]);
  piece.sentence = nb::cast<uint64_t>(key[1]);
  piece.first_sample = nb::cast<uint64_t>(key[2]);
  return piece;
}

void generate_many(Net& net, const std::vector<nb::tuple>& streams) {
  std::vector<HostPiece> pieces;
  for (const nb::tuple& s : streams) pieces.push_back(piece_of(net, s));
  const nb::gil_scoped_release unlocked;
  net.run(pieces);
}

void teacher_forced(Net& net, In<2> cond, In<2> lpc, In<2> pulse, CodesIn codes, Out<1> signal,
                    Out<1> residual, Out<1> output, Out<2> queues, Out<1> samples, Out<2> logits) {
  const auto piece = checked_given<HostPiece>(net, cond, lpc, pulse, codes, signal, residual,
                                              output, queues, samples, logits);
  const nb::gil_scoped_release unlocked;
  net.run({piece});
}

void wish(Net& net, int columns, int cluster, int groups, int threads, int shared_bytes) {
  net.wish({columns, cluster, groups, threads, shared_bytes});
}

nb::dict plan(Net& net, int streams) {
  const cuda::Plan& p = net.plan(streams);
  nb::dict d;
  d["columns"] = p.columns;
  d["cluster"] = p.cluster;
  d["groups"] = p.groups;
  d["clusters"] = p.clusters;
  d["threads"] = p.threads;
  d["streams"] = p.streams();
  d["shared_bytes"] = p.layout.bytes;
  d["streamed_bytes"] = p.streamed_bytes;
  d["weight_bytes"] = static_cast<int64_t>(p.weights.size());
  d["storage"] = static_cast<int>(net.storage());
  nb::list stages;
  for (const cuda::Stage& s : p.stages)
    stages.append(nb::make_tuple(s.has_input != 0, s.last_layer - s.first_layer,
                                 s.last_sample - s.first_sample));
  d["stages"] = stages;
  return d;
}

}  // namespace

void bind_cuda_wavenet(nb::module_& m) {
  using nb::literals::operator""_a;
  nb::class_<Net> wavenet(m, "WaveNet");
  bind_constructor(wavenet);
  wavenet
      .def("generate_many", &generate_many, "streams"_a,
           nb::sig("def generate_many(self, streams: collections.abc.Sequence[tuple[object, ...]]) "
                   "-> None"))
      .def("teacher_forced", &teacher_forced, "cond"_a.noconvert(), "lpc"_a.noconvert(),
           "pulse"_a.noconvert(), "codes"_a.noconvert(), "signal"_a.noconvert(),
           "residual"_a.noconvert(), "output"_a.noconvert(), "queues"_a.noconvert(),
           "samples"_a.noconvert(), "logits"_a.noconvert())
      .def("wish", &wish, nb::kw_only(), "columns"_a = 0, "cluster"_a = 0, "groups"_a = 0,
           "threads"_a = 0, "shared_bytes"_a = 0,
           "Choose how it runs from now on, 0 leaves the choice to the plan.")
      .def("plan", &plan, "streams"_a, "How that many streams at a time would run.");
}

}  // namespace dv
