// A WaveNet ready to run: checks sizes, packs the weights once for each storage format.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "memory.hpp"
#include "sizes.hpp"
#include "table.hpp"

namespace dv {

// A matrix with what its pointers point to, packed for an instruction set. For tests.
class PackedMatrix {
 public:
  // weight [outputs, inputs] row-major; the inputs reach `limit`.
  PackedMatrix(const float* weight, int64_t outputs, int64_t inputs, bool rectified, float limit,
               const Table& functions);
  ~PackedMatrix();
  const Matrix& matrix() const;

 private:
  struct Contents;
  std::unique_ptr<Contents> contents_;
};

class WaveNet {
 public:
  // Throws std::invalid_argument for int8 without limits, or with one that is not a usable number.
  WaveNet(const WaveNetSizes& sizes, const WaveNetTensors& tensors, Precision precision);

  const WaveNetSizes& sizes() const { return sizes_; }

  // Runs any number of streams with the instruction set in use; the arrays of `runs` must have the
  // sizes of this WaveNet. Safe from several threads.
  void run(std::vector<WaveNetRun> runs);

  // Runs one stream on this thread and another one, with the results of `run`. `patience` is how
  // many turns this thread waits for the other before it goes on alone. Returns how many steps were
  // done together. Throws std::system_error where there are no more threads.
  int64_t run_paired(const WaveNetRun& run, int patience = kPatience);
  static constexpr int kPatience = 4000;  // about 100 us

 private:
  struct Packed;  // weights laid out for an instruction set
  const WaveNetModel& model(const Table& functions);

  WaveNetSizes sizes_;
  Precision precision_;
  std::vector<std::vector<float>> tensors_;  // copies, in the order of WaveNetTensors
  std::mutex mutex_;
  std::vector<std::unique_ptr<Packed>> packed_;

 public:
  ~WaveNet();
};

}  // namespace dv
