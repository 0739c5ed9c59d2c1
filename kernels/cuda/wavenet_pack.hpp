// Weights in the order in which the warps read them (Place in wavenet_model.hpp).
#pragma once

#include <functional>

#include "wavenet_plan.hpp"

namespace dv::cuda {

class Packing {
 public:
  // Without tensors nothing is written, only the places are given out.
  Packing(const WaveNetDimensions& z, WeightStorage storage, const TensorCopies* tensors)
      : z_(z), storage_(storage), tensors_(tensors) {}

  // Fills in the places of all stages, the weights, and what the shared memory comes to.
  void pack(int shared_bytes, Plan* plan);

 private:
  struct Matrix {
    Place* place;
    int64_t rows, inputs;                           // whole tiles
    bool wide;                                      // in float32 whatever the storage
    std::function<float(int64_t, int64_t)> weight;  // of row and input, zero outside the true ones
  };

  std::vector<Matrix> matrices_of(Stage* stage) const;
  Matrix gate(Stage* stage, int layer) const;
  Matrix mix(Stage* stage, int layer) const;
  Matrix draw(Stage* stage, int sample) const;
  void place_vectors(Stage* stage);
  void write_vectors(const Stage& stage);
  void write(const Matrix& matrix);
  void put(const float* values, int64_t count, int64_t at);
  int64_t width(const Matrix& matrix) const;

  const WaveNetDimensions& z_;
  const WeightStorage storage_;
  const TensorCopies* const tensors_;
  std::vector<unsigned char> weights_;
  int64_t start_ = 0;         // of the stage's weights
  int64_t vector_bytes_ = 0;  // of the stage
};

}  // namespace dv::cuda
