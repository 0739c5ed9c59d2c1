// What tests may change about the emulated device.
#pragma once

namespace dv::cuda {

// Becomes a card of compute capability 7.5, 8.0, 8.9 or 9.0 (75, 80, 89 or 90, as an H200), with
// its shared memory and, from 9.0 on, its clusters. Whatever was packed before must be packed
// again. Throws std::invalid_argument for another number.
void set_emulated_capability(int capability);

}  // namespace dv::cuda
