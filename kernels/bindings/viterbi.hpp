// Binding of the aligner's decoder.
#pragma once

#include <nanobind/nanobind.h>

namespace dv {

void bind_viterbi(nanobind::module_& m);

}  // namespace dv
