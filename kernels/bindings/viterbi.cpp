#include "viterbi.hpp"

#include <nanobind/stl/vector.h>

#include "../cpu/viterbi.hpp"
#include "checks.hpp"

namespace dv {
namespace {

using IndicesIn = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using IndicesOut = nb::ndarray<int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class Array>
Array item(const nb::tuple& arguments, size_t i) {
  return nb::cast<Array>(arguments[i], false);
}

ViterbiProblem checked_problem(const nb::tuple& t) {
  if (t.size() != 12) throw std::invalid_argument("a problem must be a tuple of 12 arguments");
  const auto emission = item<In<2>>(t, 0), leave = item<In<2>>(t, 1), enter = item<In<2>>(t, 2);
  const auto class_of = item<IndicesIn>(t, 3), first_arc = item<IndicesIn>(t, 4);
  const auto source = item<IndicesIn>(t, 5);
  const auto bonus = item<In<1>>(t, 6), initial = item<In<1>>(t, 7), final = item<In<1>>(t, 8);
  const auto low = item<IndicesIn>(t, 9), high = item<IndicesIn>(t, 10);
  auto path = item<IndicesOut>(t, 11);
  ViterbiProblem p{};
  p.frames = size_of(emission, 0);
  p.classes = size_of(emission, 1);
  p.states = size_of(class_of, 0);
  p.arcs = size_of(source, 0);
  const int64_t steps = size_of(leave, 0);
  if (p.frames < 1 || steps < 1 || p.states < 1)
    throw std::invalid_argument("viterbi: nothing to do");
  p.stack = (p.frames + steps - 1) / steps;
  check_shape("leave_TC", leave, {(p.frames + p.stack - 1) / p.stack, p.classes});
  check_shape("enter_TC", enter, {steps, p.classes});
  check_shape("first_arc", first_arc, {p.states + 1});
  check_shape("bonus_A", bonus, {p.arcs});
  check_shape("initial_S", initial, {p.states});
  check_shape("final_S", final, {p.states});
  check_shape("low_F", low, {p.frames});
  check_shape("high_F", high, {p.frames});
  check_shape("path_F", path, {p.frames});
  p.emission = emission.data();
  p.leave = leave.data();
  p.enter = enter.data();
  p.class_of = class_of.data();
  p.first_arc = first_arc.data();
  p.source = source.data();
  p.bonus = bonus.data();
  p.initial = initial.data();
  p.final = final.data();
  p.low = low.data();
  p.high = high.data();
  p.path = path.data();
  p.check();
  return p;
}

// Each problem is a tuple of arrays that the caller keeps alive; returns the score of each path.
std::vector<float> viterbi_many(const std::vector<nb::tuple>& problems) {
  std::vector<ViterbiProblem> checked;
  checked.reserve(problems.size());
  for (const nb::tuple& problem : problems) checked.push_back(checked_problem(problem));
  std::vector<float> scores;
  scores.reserve(problems.size());
  const nb::gil_scoped_release unlocked;
  for (const ViterbiProblem& problem : checked) scores.push_back(viterbi(problem));
  return scores;
}

}  // namespace

void bind_viterbi(nb::module_& m) {
  using nb::literals::operator""_a;
  m.def("viterbi_many", &viterbi_many, "problems"_a,
        nb::sig("def viterbi_many(problems: collections.abc.Sequence[tuple[object, ...]]) -> "
                "list[float]"));
}

}  // namespace dv
