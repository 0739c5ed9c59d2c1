// Runs kernels on fibres; see emulation.hpp. One launch at a time, one cluster after the other.
#include <algorithm>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "emulation_fibre.hpp"
#include "portable.cuh"

namespace dv::cuda::emulation {

Place place;
int omitted_line = 0;

namespace {

std::string omitted_file;
int64_t omitted_count = 0;

constexpr int kGuardBytes = 4096, kAlignment = 128;
constexpr unsigned char kGuard = 0xa5;
constexpr int kNamedBarriers = 16;
constexpr size_t kMostTaken = 65536;  // entries at the front of the queue, before it is moved
constexpr size_t kMostStacks = 16 * 1024;

struct Fibre {
  Context context;
  Place place;
  int warp = 0;  // in the cluster
};

// Where threads wait for each other. Those that wait are released in the order of the schedule.
struct Gate {
  std::vector<Fibre*> waiting;
};

struct Warp {
  uint64_t values[2][kWarp];  // of this meeting and of the one before it
  int turn = 0;
  Meeting what = Meeting::kBarrier;
  Gate gate;
};

struct Block {
  std::vector<unsigned char> shared;
  unsigned char *start = nullptr, *end = nullptr;  // of the part that the kernel has
  int running = 0;
  Gate barrier;
  Gate named[kNamedBarriers];
};

class Cluster {
 public:
  Cluster(const std::function<void()>& kernel, const Grid& grid, int first_block, Order order,
          uint64_t seed, Stacks* stacks);
  void finish();

  void meet(Gate* gate, int expected, const char* what);
  void meet_block() { meet(&block().barrier, current_->place.threads, "a block barrier"); }
  void meet_named(int id, int threads);
  void cluster_arrive();
  void cluster_wait();
  const uint64_t* meet_warp(Meeting what, uint64_t value);
  void* remote_memory(void* mine, int rank);

 private:
  static void entry();
  Block& block() { return blocks_[static_cast<size_t>(current_->place.rank)]; }
  void release(Gate* gate);
  void next();
  // Ends the launch. A function says why, so that nothing of it is left on the stack that is given
  // up.
  template <class Why>
  [[noreturn]] void fail(Why why) {
    trouble_ = why();
    leave();
  }
  [[noreturn]] void leave();
  std::string name() const;

  const std::function<void()>& kernel_;
  const Grid grid_;
  const Order order_;
  std::mt19937_64 random_;
  std::vector<Fibre> fibres_;
  std::vector<Warp> warps_;
  std::vector<Block> blocks_;
  std::vector<Fibre*> ready_;  // from head_ on; an order of its own where it is random
  size_t head_ = 0;
  int alive_, arrived_ = 0;
  int64_t cluster_turn_ = 0;
  std::vector<int64_t> waits_for_;  // of each thread: the turn that its last arrival belongs to
  Gate cluster_gate_;
  Fibre* current_ = nullptr;
  Fibre outside_;  // who started the cluster
  std::string trouble_;
};

Cluster* active = nullptr;

Cluster::Cluster(const std::function<void()>& kernel, const Grid& grid, int first_block,
                 Order order, uint64_t seed, Stacks* stacks)
    : kernel_(kernel), grid_(grid), order_(order), random_(seed) {
  const int threads = grid.threads * grid.cluster;
  fibres_.resize(static_cast<size_t>(threads));
  warps_.resize(static_cast<size_t>(threads / kWarp));
  blocks_.resize(static_cast<size_t>(grid.cluster));
  waits_for_.assign(static_cast<size_t>(threads), -1);
  alive_ = threads;
  for (Block& b : blocks_) {
    b.shared.resize(static_cast<size_t>(grid.shared_bytes) + kAlignment + kGuardBytes);
    const auto address = reinterpret_cast<uintptr_t>(b.shared.data());
    b.start = b.shared.data() + (kAlignment - address % kAlignment) % kAlignment;
    b.end = b.start + grid.shared_bytes;
    std::fill(b.start, b.end, 0xff);
    std::fill(b.end, b.end + kGuardBytes, kGuard);
    b.running = grid.threads;
  }
  for (int t = 0; t < threads; ++t) {
    Fibre& f = fibres_[static_cast<size_t>(t)];
    const int rank = t / grid.threads;
    f.place = {t % grid.threads,
               grid.threads,
               first_block + rank,
               grid.blocks,
               rank,
               grid.cluster,
               blocks_[static_cast<size_t>(rank)].start};
    f.warp = t / kWarp;
    f.context.start(stacks->get(static_cast<size_t>(t)), kStackBytes, &Cluster::entry);
    ready_.push_back(&f);
  }
  if (order == Order::kReverse) std::reverse(ready_.begin(), ready_.end());
}

void Cluster::entry() {
  Cluster* const self = active;
  self->kernel_();
  Block& b = self->block();
  if (--b.running == 0) std::fill(b.start, b.end, 0xff);  // its memory ends with it
  --self->alive_;
  self->next();
}

std::string Cluster::name() const {
  return "thread " + std::to_string(current_->place.thread) + " of block " +
         std::to_string(current_->place.block);
}

void Cluster::leave() {
  current_->context.go(outside_.context);
  __builtin_unreachable();
}

// Goes on with a thread that is ready; the current one comes back when it is taken from ready_.
void Cluster::next() {
  if (head_ == ready_.size()) {
    if (alive_ == 0) leave();
    fail([&] {
      return "deadlock: " + std::to_string(alive_) + " threads wait for others that never come, " +
             name() + " was the last to stop";
    });
  }
  if (order_ == Order::kRandom) {
    const size_t at = head_ + random_() % (ready_.size() - head_);
    std::swap(ready_[head_], ready_[at]);
  }
  Fibre* const to = ready_[head_++];
  if (head_ == ready_.size() || head_ == kMostTaken) {
    ready_.erase(ready_.begin(), ready_.begin() + static_cast<ptrdiff_t>(head_));
    head_ = 0;
  }
  Fibre* const from = current_;
  if (to == from) return;
  current_ = to;
  place = to->place;
  from->context.go(to->context);
}

void Cluster::release(Gate* gate) {
  std::vector<Fibre*>& w = gate->waiting;
  std::sort(w.begin(), w.end());
  if (order_ == Order::kReverse) std::reverse(w.begin(), w.end());
  ready_.insert(ready_.end(), w.begin(), w.end());
  w.clear();
}

void Cluster::meet(Gate* gate, int expected, const char* what) {
  gate->waiting.push_back(current_);
  if (static_cast<int>(gate->waiting.size()) == expected) {
    release(gate);
  } else if (expected == current_->place.threads && block().running < expected) {
    fail([&] {
      return std::string(what) + ": " + name() + " waits, but a thread of its block has ended";
    });
  }
  next();
}

void Cluster::meet_named(int id, int threads) {
  if (id < 1 || id >= kNamedBarriers || threads % kWarp != 0 || threads > grid_.threads)
    fail([&] {
      return "named barrier " + std::to_string(id) + " for " + std::to_string(threads) +
             " threads: ids are 1 to 15, threads whole warps of the block";
    });
  meet(&block().named[id], threads, "a named barrier");
}

void Cluster::cluster_arrive() {
  int64_t& mine = waits_for_[static_cast<size_t>(current_ - fibres_.data())];
  if (mine >= 0)
    fail([&] { return "cluster barrier: " + name() + " arrives twice without a wait"; });
  mine = cluster_turn_;
  if (++arrived_ == static_cast<int>(fibres_.size())) {
    arrived_ = 0;
    ++cluster_turn_;
    release(&cluster_gate_);
  }
}

void Cluster::cluster_wait() {
  int64_t& mine = waits_for_[static_cast<size_t>(current_ - fibres_.data())];
  if (mine < 0)
    fail([&] { return "cluster barrier: " + name() + " waits without having arrived"; });
  if (mine == cluster_turn_)
    cluster_gate_.waiting.push_back(current_);
  else
    ready_.push_back(current_);
  mine = -1;
  next();
}

const uint64_t* Cluster::meet_warp(Meeting what, uint64_t value) {
  Warp& w = warps_[static_cast<size_t>(current_->warp)];
  const int turn = w.turn;
  if (w.gate.waiting.empty())
    w.what = what;
  else if (w.what != what)
    fail([&] { return "a warp meets in different operations at " + name(); });
  w.values[turn][current_->place.thread % kWarp] = value;
  w.gate.waiting.push_back(current_);
  if (w.gate.waiting.size() == kWarp) {
    w.turn = 1 - turn;
    release(&w.gate);
  }
  next();
  return w.values[turn];
}

void* Cluster::remote_memory(void* mine, int rank) {
  auto* const address = static_cast<unsigned char*>(mine);
  const Block& own = block();
  if (rank < 0 || rank >= grid_.cluster || address < own.start || address >= own.end)
    fail([&] {
      return "remote memory: " + name() + " asks for rank " + std::to_string(rank) + " of " +
             std::to_string(grid_.cluster) + ", or for what is no shared memory";
    });
  if (rank != current_->place.rank && cluster_turn_ == 0)
    fail([&] { return "remote memory: " + name() + " asks for a block that may not have begun"; });
  const Block& other = blocks_[static_cast<size_t>(rank)];
  if (other.running == 0)
    fail([&] { return "remote memory: " + name() + " asks for a block that has ended"; });
  return other.start + (address - own.start);
}

void Cluster::finish() {
  current_ = &outside_;
  next();
  if (!trouble_.empty()) throw std::runtime_error("emulation: " + trouble_);
  for (const Block& b : blocks_)
    if (std::any_of(b.end, b.end + kGuardBytes, [](unsigned char c) { return c != kGuard; }))
      throw std::runtime_error("emulation: shared memory was written beyond its end");
}

std::mutex launch_mutex;
Order schedule_order = Order::kForward;
uint64_t schedule_seed = 0;

}  // namespace

void set_schedule(Order order, uint64_t seed) {
  const std::lock_guard<std::mutex> lock(launch_mutex);
  schedule_order = order;
  schedule_seed = seed;
}

void omit_barrier(const std::string& file, int line) {
  const std::lock_guard<std::mutex> lock(launch_mutex);
  omitted_file = file;
  omitted_line = line;
  omitted_count = 0;
}

bool is_omitted(const char* file) {
  const std::string path = file;
  const bool same = path.substr(path.rfind('/') + 1) == omitted_file;
  omitted_count += same ? 1 : 0;
  return same;
}

int64_t omitted() {
  const std::lock_guard<std::mutex> lock(launch_mutex);
  return omitted_count;
}

void meet_block() { active->meet_block(); }
void meet_named(int id, int threads) { active->meet_named(id, threads); }
void meet_cluster_arrive() { active->cluster_arrive(); }
void meet_cluster_wait() { active->cluster_wait(); }
const uint64_t* meet_warp(Meeting what, uint64_t value) { return active->meet_warp(what, value); }
void* remote_memory(void* mine, int rank) { return active->remote_memory(mine, rank); }

void run(const std::function<void()>& kernel, const Grid& grid) {
  const std::lock_guard<std::mutex> lock(launch_mutex);
  static Stacks stacks;
  if (grid.blocks < 1 || grid.cluster < 1 || grid.cluster > 16 || grid.blocks % grid.cluster != 0 ||
      grid.threads < kWarp || grid.threads > 1024 || grid.threads % kWarp != 0 ||
      grid.shared_bytes < 0 ||
      static_cast<size_t>(grid.threads) * static_cast<size_t>(grid.cluster) > kMostStacks)
    throw std::runtime_error("emulation: this launch has a shape that no device takes");
  const int clusters = grid.blocks / grid.cluster;
  std::vector<int> order;
  for (int c = 0; c < clusters; ++c) order.push_back(c);
  std::mt19937_64 random(schedule_seed);
  if (schedule_order == Order::kReverse) std::reverse(order.begin(), order.end());
  if (schedule_order == Order::kRandom) std::shuffle(order.begin(), order.end(), random);
  for (const int c : order) {
    Cluster cluster(kernel, grid, c * grid.cluster, schedule_order, random(), &stacks);
    active = &cluster;
    cluster.finish();
    active = nullptr;
  }
}

}  // namespace dv::cuda::emulation
