// The emulated twin of portable.cuh: a launch runs here, every thread of a cluster a fibre of its
// own. Only barriers and shuffles switch between fibres, and the schedule decides who goes on
// first: threads in order, in reverse, or at random. A kernel that depends on the order (a race, a
// missing barrier) gives something else under another schedule.
//
// It is stricter than a device: shared memory begins as NaN and has guards behind it; a barrier
// that some thread never reaches, lanes that meet in different operations, and the shared memory of
// a block that has ended, or that may not have begun since no barrier of the cluster has been met,
// are errors, thrown by `launch` as std::runtime_error.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#define DV_KERNEL(most_threads) void
#define DV_DEVICE inline
#define DV_UNROLL
#define DV_UNROLL_TWICE
#define DV_ROLLED

namespace dv::cuda {

namespace emulation {

enum class Order { kForward, kReverse, kRandom };

// The schedule of every launch from now on; the seed is that of kRandom.
void set_schedule(Order order, uint64_t seed);

// What the running thread may know of itself; written by the scheduler.
struct Place {
  int thread, threads, block, blocks, rank, cluster;
  unsigned char* shared;
};
extern Place place;

enum class Meeting { kBarrier, kShuffle, kBallot };

// Leaves out, from now on, the block, cluster or warp barriers at a line of a source, which is
// named without its folder; line 0 is none. To see whether a test would notice. `omitted` counts
// them.
void omit_barrier(const std::string& file, int line);
int64_t omitted();
bool is_omitted(const char* file);  // counts, too
extern int omitted_line;

void meet_block();
void meet_named(int id, int threads);
void meet_cluster_arrive();
void meet_cluster_wait();
// Waits until all lanes have put a value; returns all 32.
const uint64_t* meet_warp(Meeting what, uint64_t value);
void* remote_memory(void* mine, int rank);

void run(const std::function<void()>& kernel, const Grid& grid);

template <class T>
uint64_t pack(T value) {
  static_assert(sizeof(T) <= 8, "values of up to 8 bytes");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
T unpack(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace emulation

DV_DEVICE int thread_index() { return emulation::place.thread; }
DV_DEVICE int thread_count() { return emulation::place.threads; }
DV_DEVICE int lane_index() { return emulation::place.thread & (kWarp - 1); }
DV_DEVICE int warp_index() { return emulation::place.thread / kWarp; }
DV_DEVICE int warp_count() { return emulation::place.threads / kWarp; }
DV_DEVICE int block_index() { return emulation::place.block; }
DV_DEVICE int block_count() { return emulation::place.blocks; }
DV_DEVICE unsigned char* shared_memory() { return emulation::place.shared; }

// Where a barrier stands; the arguments are never given.
#define DV_SITE const char *file = __builtin_FILE(), int line = __builtin_LINE()
inline bool omitted_at(const char* file, int line) {
  return line == emulation::omitted_line && emulation::is_omitted(file);
}
DV_DEVICE void block_barrier(DV_SITE) {
  if (!omitted_at(file, line)) emulation::meet_block();
}
DV_DEVICE void named_barrier(int id, int threads) { emulation::meet_named(id, threads); }
DV_DEVICE void warp_barrier(DV_SITE) {
  if (!omitted_at(file, line)) emulation::meet_warp(emulation::Meeting::kBarrier, 0);
}

template <class T>
DV_DEVICE T shuffle(T value, int from) {
  return emulation::unpack<T>(
      emulation::meet_warp(emulation::Meeting::kShuffle, emulation::pack(value))[from & 31]);
}
template <class T>
DV_DEVICE T shuffle_xor(T value, int mask) {
  return shuffle(value, lane_index() ^ mask);
}
template <class T>
DV_DEVICE T shuffle_up(T value, int by) {
  return shuffle(value, lane_index() < by ? lane_index() : lane_index() - by);
}
template <class T>
DV_DEVICE T shuffle_down(T value, int by) {
  return shuffle(value, lane_index() + by > 31 ? lane_index() : lane_index() + by);
}
DV_DEVICE unsigned ballot(bool value) {
  const uint64_t* const all = emulation::meet_warp(emulation::Meeting::kBallot, value ? 1 : 0);
  unsigned bits = 0;
  for (int i = 0; i < kWarp; ++i) bits |= static_cast<unsigned>(all[i]) << i;
  return bits;
}
DV_DEVICE int lowest_bit(unsigned bits) { return __builtin_ffs(static_cast<int>(bits)) - 1; }
DV_DEVICE int highest_bit(unsigned bits) { return bits == 0 ? -1 : 31 - __builtin_clz(bits); }

DV_DEVICE int cluster_rank() { return emulation::place.rank; }
DV_DEVICE int cluster_size() { return emulation::place.cluster; }
DV_DEVICE void cluster_arrive() { emulation::meet_cluster_arrive(); }
DV_DEVICE void cluster_wait() { emulation::meet_cluster_wait(); }
DV_DEVICE void cluster_barrier(DV_SITE) {
  if (omitted_at(file, line)) return;
  cluster_arrive();
  cluster_wait();
}
#undef DV_SITE
template <class T>
DV_DEVICE T* remote(T* mine, int rank) {
  return static_cast<T*>(emulation::remote_memory(mine, rank));
}

template <class T>
DV_DEVICE T read_only(const T* at) {
  return *at;
}
// Nothing interrupts a fibre between two meetings.
DV_DEVICE int atomic_add(int* at, int value) {
  const int before = *at;
  *at += value;
  return before;
}
DV_DEVICE float atomic_add(float* at, float value) {
  const float before = *at;
  *at += value;
  return before;
}

// Rounded once where the machine does it in one instruction; otherwise twice, since the library's
// exact one takes a hundred times as long.
DV_DEVICE float fused(float a, float b, float c) {
#ifdef __FMA__
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
DV_DEVICE float as_float(uint32_t bits) { return emulation::unpack<float>(bits); }
DV_DEVICE uint32_t as_bits(float value) { return static_cast<uint32_t>(emulation::pack(value)); }
DV_DEVICE float round_even(float value) { return std::nearbyintf(value); }
DV_DEVICE uint64_t multiply_high(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(static_cast<Wide>(a) * b >> 64);
}
DV_DEVICE float to_float(float value) { return value; }
DV_DEVICE float to_float(Bfloat value) { return as_float(uint32_t{value.bits} << 16); }
DV_DEVICE float to_float(Half value) {  // finite numbers
  const float magnitude = as_float((value.bits & 0x7fffu) << 13) * 0x1p112f;
  return as_float(as_bits(magnitude) | (value.bits & 0x8000u) << 16);
}

template <class Arguments>
void launch(void (*kernel)(Arguments), const Grid& grid, void*, const Arguments& arguments) {
  emulation::run([kernel, &arguments] { kernel(arguments); }, grid);
}

}  // namespace dv::cuda
