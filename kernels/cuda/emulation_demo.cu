#include <map>
#include <stdexcept>

#include "emulation_demo.hpp"
#include "portable.cuh"

namespace dv::cuda {
namespace {

struct Demo {
  float* out;  // [blocks * threads]
  bool omit;
};

DV_DEVICE int place_in_grid() { return block_index() * thread_count() + thread_index(); }

DV_KERNEL(1024) neighbours(Demo d) {
  float* const values = reinterpret_cast<float*>(shared_memory());
  values[thread_index()] = static_cast<float>(place_in_grid());
  if (!d.omit) block_barrier();
  d.out[place_in_grid()] = values[(thread_index() + 1) % thread_count()];
}

DV_KERNEL(1024) ring(Demo d) {
  float* const values = reinterpret_cast<float*>(shared_memory());
  const int next = (cluster_rank() + 1) % cluster_size();
  cluster_barrier();  // a block that has not begun has no memory either
  remote(values, next)[thread_index()] = static_cast<float>(place_in_grid());
  if (!d.omit) cluster_barrier();
  d.out[place_in_grid()] = values[thread_index()];
  cluster_barrier();  // a block that has ended has no memory
}

DV_KERNEL(1024) warp_sum(Demo d) {
  float sum = static_cast<float>(place_in_grid());
  for (int mask = 16; mask > 0; mask /= 2) sum += shuffle_xor(sum, mask);
  d.out[place_in_grid()] = sum;
}

DV_KERNEL(1024) scan(Demo d) {
  float sum = 1.0f;
  for (int by = 1; by < kWarp; by *= 2) {
    const float before = shuffle_up(sum, by);
    if (lane_index() >= by) sum += before;
  }
  const unsigned odd = ballot(lane_index() % 2 == 1);
  d.out[place_in_grid()] = sum + 100.0f * static_cast<float>(lowest_bit(odd)) +
                           1000.0f * static_cast<float>(highest_bit(odd));
}

// The first half of the warps waits twice as often as the second.
DV_KERNEL(1024) named(Demo d) {
  float* const values = reinterpret_cast<float*>(shared_memory());
  const int half = thread_count() / 2, group = thread_index() / half;
  const int first = group * half, mine = thread_index() - first;
  for (int turn = 0; turn < 2 - group; ++turn) {
    values[thread_index()] = static_cast<float>(place_in_grid() + turn);
    if (!d.omit) named_barrier(1 + group, half);
    d.out[place_in_grid()] = values[first + (mine + 1) % half];
    if (!d.omit) named_barrier(1 + group, half);
  }
}

DV_KERNEL(1024) deadlock(Demo) {
  if (thread_index() > 0) block_barrier();
}

DV_KERNEL(1024) mixed(Demo) {
  if (lane_index() == 0)
    warp_barrier();
  else
    ballot(true);
}

DV_KERNEL(1024) overrun(Demo) {
  reinterpret_cast<float*>(shared_memory())[thread_count() + thread_index()] = 0.0f;
}

DV_KERNEL(1024) early(Demo d) {
  const int next = (cluster_rank() + 1) % cluster_size();
  d.out[place_in_grid()] = *remote(reinterpret_cast<float*>(shared_memory()), next);
}

DV_KERNEL(1024) ended(Demo d) {
  cluster_barrier();
  if (cluster_rank() == 0) return;
  block_barrier();
  block_barrier();
  d.out[place_in_grid()] = *remote(reinterpret_cast<float*>(shared_memory()), 0);
}

}  // namespace

std::vector<float> emulation_demo(const std::string& name, int blocks, int cluster, int threads,
                                  bool omit) {
  static const std::map<std::string, void (*)(Demo)> kernels = {
      {"neighbours", neighbours}, {"ring", ring},
      {"warp_sum", warp_sum},     {"scan", scan},
      {"named", named},           {"deadlock", deadlock},
      {"mixed", mixed},           {"overrun", overrun},
      {"early", early},           {"ended", ended}};
  const auto found = kernels.find(name);
  if (found == kernels.end()) throw std::invalid_argument("no demonstration is called " + name);
  std::vector<float> out(static_cast<size_t>(blocks) * static_cast<size_t>(threads), -1.0f);
  launch(found->second, Grid{blocks, cluster, threads, threads * static_cast<int>(sizeof(float))},
         nullptr, Demo{out.data(), omit});
  return out;
}

}  // namespace dv::cuda
