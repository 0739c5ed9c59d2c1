// Bindings of the layers of the front-end networks.
#pragma once

#include <nanobind/nanobind.h>

namespace dv {

void bind_layers(nanobind::module_& m);

}  // namespace dv
