// Bindings of the layers that run on the device.
#pragma once

#include <nanobind/nanobind.h>

namespace dv {

void bind_cuda_layers(nanobind::module_& m);

}  // namespace dv
