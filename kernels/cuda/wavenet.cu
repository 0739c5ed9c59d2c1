#include <stdexcept>

#include "wavenet_kernel.hpp"
#include "wavenet_worker.cuh"

namespace dv::cuda {
namespace {

template <class T, int kColumns>
DV_KERNEL(most_threads(kColumns))
wavenet(WaveNetArguments arguments) {
  Worker<T, kColumns>(arguments).run();
}

template <class T>
void launch_columns(int columns, const Grid& grid, void* stream, const WaveNetArguments& a) {
  if (columns == 1) return launch(wavenet<T, 1>, grid, stream, a);
  if (columns == 4) return launch(wavenet<T, 4>, grid, stream, a);
  if (columns == 8) return launch(wavenet<T, 8>, grid, stream, a);
  throw std::invalid_argument("WaveNet columns must be 1, 4 or 8");
}

}  // namespace

void launch_wavenet(WeightStorage storage, int columns, const Grid& grid, void* stream,
                    const WaveNetArguments& arguments) {
  switch (storage) {
    case WeightStorage::kFloatWeights:
      return launch_columns<float>(columns, grid, stream, arguments);
    case WeightStorage::kHalfWeights:
      return launch_columns<Half>(columns, grid, stream, arguments);
    case WeightStorage::kBfloatWeights:
      return launch_columns<Bfloat>(columns, grid, stream, arguments);
  }
}

}  // namespace dv::cuda
