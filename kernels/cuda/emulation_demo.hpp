// Small kernels that try the emulation itself; in the emulated module only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace dv::cuda {

// Names: "neighbours" (every thread reads what the next one wrote), "ring" (every block reads what
// the next block of its cluster wrote), "warp_sum", "scan", "named", and, all of them broken,
// "deadlock", "mixed", "overrun", "early", "ended". `omit` leaves out the barrier between writing
// and reading. Returns a number of each thread. Throws std::invalid_argument for another name.
std::vector<float> emulation_demo(const std::string& name, int blocks, int cluster, int threads,
                                  bool omit);

}  // namespace dv::cuda
