// Python bindings of the CUDA kernels, real or emulated: every size is checked here, nothing is
// computed here. Importing it needs no driver.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../cuda/runtime.hpp"
#include "cuda_layers.hpp"
#include "cuda_wavenet.hpp"
#ifdef DV_EMULATE
#include "../cuda/emulation_demo.hpp"
#include "../cuda/portable.cuh"
#include "../cuda/runtime_emulated.hpp"
#define DV_MODULE _cuda_emulated
#else
#define DV_MODULE _cuda
#endif

namespace nb = nanobind;

namespace {

constexpr int kCudaInterfaceVersion = 1;  // INTERFACE_VERSION of kernels/cuda.py

nb::tuple device_info() {
  const dv::cuda::DeviceInfo& d = dv::cuda::device_info();
  return nb::make_tuple(d.name, nb::make_tuple(d.major, d.minor), d.multiprocessors, d.shared_bytes,
                        d.memory_bytes, d.clusters);
}

#ifdef DV_EMULATE
void set_schedule(const std::string& name, uint64_t seed) {
  using dv::cuda::emulation::Order;
  if (name != "forward" && name != "reverse" && name != "random")
    throw std::invalid_argument("schedule " + name + ": expected forward, reverse or random");
  dv::cuda::emulation::set_schedule(name == "forward"   ? Order::kForward
                                    : name == "reverse" ? Order::kReverse
                                                        : Order::kRandom,
                                    seed);
}

void bind_emulation(nb::module_& m) {
  using nb::literals::operator""_a;
  m.def("set_schedule", &set_schedule, "name"_a, "seed"_a = 0,
        "Run threads in order (forward, reverse or random) from now on.");
  m.def("set_capability", &dv::cuda::set_emulated_capability, "capability"_a,
        "Be a card of another compute capability (75, 80, 89 or 90) from now on.");
  m.def("omit_barrier", &dv::cuda::emulation::omit_barrier, "file"_a, "line"_a,
        "Leave out the barriers at a line of a source from now on; line 0 is none.");
  m.def("barriers_omitted", &dv::cuda::emulation::omitted, "How many were left out since then.");
  m.def("demo", &dv::cuda::emulation_demo, "name"_a, "blocks"_a, "cluster"_a, "threads"_a,
        "omit"_a = false, "Run a small kernel that tries the emulation itself.");
}
#endif

}  // namespace

NB_MODULE(DV_MODULE, m) {
  m.doc() =
      "CUDA kernels of deepvoice. Use them through deepvoice.kernels, which checks and documents "
      "arguments.";
  m.attr("interface_version") = kCudaInterfaceVersion;
  m.def("why_unavailable", &dv::cuda::why_unavailable,
        "Why no device can be used; empty where one can.");
  m.def("device_info", &device_info);
  dv::bind_cuda_layers(m);
  dv::bind_cuda_wavenet(m);
#ifdef DV_EMULATE
  bind_emulation(m);
#endif
}
