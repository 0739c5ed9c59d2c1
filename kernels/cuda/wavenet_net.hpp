// A WaveNet on the device: the host's side of the persistent kernel.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "../cpu/sizes.hpp"
#include "wavenet_plan.hpp"

namespace dv::cuda {

// A stream with arrays in the host's memory; shapes as in kernels/wavenet.py, queues oldest first.
struct HostPiece {
  int64_t frames;
  const float *cond, *lpc, *pulse;
  const float *uniforms,
      *temperature;  // both null where codes are given, uniforms also to draw here
  uint64_t seed, sentence, first_sample;  // of the random numbers that are drawn here
  const uint8_t* given;
  float floor;
  float *signal, *residual, *output, *queues;  // state, updated in place
  float* samples;
  uint8_t* codes;  // or null
  float* logits;   // or null
};

class WaveNet {
 public:
  // Throws std::invalid_argument for int8, which the CPU kernels alone have.
  WaveNet(const WaveNetSizes& sizes, const WaveNetTensors& tensors, Precision precision);
  ~WaveNet();

  const WaveNetSizes& sizes() const { return sizes_; }
  WeightStorage storage() const { return storage_; }

  // For tests and measurements: what the plan should choose.
  void wish(const PlanWishes& wishes);
  // How `streams` streams at a time would run.
  const Plan& plan(int streams);

  // Generates all pieces; more than run at a time wait for a place. Safe from several threads.
  void run(const std::vector<HostPiece>& pieces);

 private:
  struct Prepared;  // a plan, with its weights on the device
  const Prepared& prepared(int streams);

  WaveNetSizes sizes_;
  WeightStorage storage_;
  TensorCopies tensors_;
  PlanWishes wishes_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<Prepared>> prepared_;  // by number of streams
};

}  // namespace dv::cuda
