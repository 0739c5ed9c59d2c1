// Binding of the WaveNet that runs on the device.
#pragma once

#include <nanobind/nanobind.h>

namespace dv {

void bind_cuda_wavenet(nanobind::module_& m);

}  // namespace dv
