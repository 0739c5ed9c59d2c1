// The persistent WaveNet kernel: one launch generates whole pieces of any number of streams.
#pragma once

#include "wavenet_model.hpp"

namespace dv::cuda {

struct Grid;

// Threads of a block, at most: one stream is faster with many warps, several need their registers.
constexpr int most_threads(int columns) { return columns == 1 ? 512 : 256; }

// How the large matrices lie on the device. kHalfWeights is exact: only weights that half precision
// holds are stored so.
enum class WeightStorage : int { kFloatWeights = 0, kHalfWeights = 1, kBfloatWeights = 2 };

// columns: 1, 4 or 8. All pointers are the device's. Throws std::runtime_error when the device
// refuses the launch.
void launch_wavenet(WeightStorage storage, int columns, const Grid& grid, void* stream,
                    const WaveNetArguments& arguments);

}  // namespace dv::cuda
