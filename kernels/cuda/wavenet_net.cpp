#include "wavenet_net.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <stdexcept>

#include "portable.cuh"
#include "runtime.hpp"

namespace dv::cuda {
namespace {

WeightStorage storage_of(Precision precision, const TensorCopies& tensors) {
  if (precision == Precision::kInt8)
    throw std::invalid_argument(
        "WaveNet precision int8 does not run on CUDA, only float32 (in half precision where that "
        "is "
        "exact) and bfloat16");
  if (precision == Precision::kBfloat16) return WeightStorage::kBfloatWeights;
  return tensors.fit_half() ? WeightStorage::kHalfWeights : WeightStorage::kFloatWeights;
}

// All arrays of a call in one block of memory, so that they travel in two copies. What comes back
// lies behind everything else.
class Freight {
 public:
  explicit Freight(StreamHandle stream) : stream_(stream) {}

  // Reserves room; `from` (or null) is copied to it.
  size_t add(const void* from, size_t bytes) {
    const size_t at = size_;
    size_ += (bytes + 15) / 16 * 16;
    if (from != nullptr && bytes > 0) loads_.push_back({at, from, bytes});
    return at;
  }
  void results_begin() { results_ = size_; }
  void send() {
    host_.resize(size_);
    for (const Load& l : loads_) std::memcpy(host_.data() + l.at, l.from, l.bytes);
    device_ = Buffer<unsigned char>(host_.data(), host_.size(), stream_);
  }
  void fetch() {
    copy_out(host_.data() + results_, device_.get() + results_, size_ - results_, stream_);
    wait(stream_);
  }
  template <class T>
  T* device(size_t at) const {
    return reinterpret_cast<T*>(device_.get() + at);
  }
  const unsigned char* host(size_t at) const { return host_.data() + at; }

 private:
  struct Load {
    size_t at;
    const void* from;
    size_t bytes;
  };
  StreamHandle stream_;
  size_t size_ = 0, results_ = 0;
  std::vector<Load> loads_;
  std::vector<unsigned char> host_;
  Buffer<unsigned char> device_;
};

// Where the arrays of a piece lie in the freight.
struct Berth {
  size_t cond, lpc, pulse, uniforms, temperature, given;
  size_t signal, residual, output, queues, samples, codes, logits;
};

constexpr size_t kFloat = sizeof(float);
constexpr int kMostStreams = 65536;  // that a plan makes room for; more wait for a place

void load_inputs(const WaveNetSizes& z, const HostPiece& p, Freight* freight, Berth* b) {
  const auto F = static_cast<size_t>(p.frames), T = F * static_cast<size_t>(z.hop);
  b->cond = freight->add(p.cond, F * static_cast<size_t>(z.conditioning()) * kFloat);
  b->lpc = freight->add(p.lpc, F * static_cast<size_t>(z.lpc_order) * kFloat);
  b->pulse = freight->add(
      p.pulse, T / static_cast<size_t>(z.bunch) * static_cast<size_t>(2 * z.harmonics) * kFloat);
  if (p.uniforms != nullptr) b->uniforms = freight->add(p.uniforms, T * kFloat);
  if (p.temperature != nullptr) b->temperature = freight->add(p.temperature, F * kFloat);
  if (p.given != nullptr) b->given = freight->add(p.given, T);
}

void load_results(const WaveNetSizes& z, const HostPiece& p, Freight* freight, Berth* b) {
  const size_t T = static_cast<size_t>(p.frames * z.hop), past = static_cast<size_t>(z.past());
  b->signal = freight->add(p.signal, past * kFloat);
  b->residual = freight->add(p.residual, past * kFloat);
  b->output = freight->add(p.output, kFloat);
  b->queues = freight->add(p.queues, static_cast<size_t>(z.dilation_sum() * z.residual) * kFloat);
  b->samples = freight->add(nullptr, T * kFloat);
  if (p.codes != nullptr) b->codes = freight->add(nullptr, T);
  if (p.logits != nullptr)
    b->logits = freight->add(nullptr, T * static_cast<size_t>(z.levels) * kFloat);
}

Piece on_device(const HostPiece& p, const Freight& freight, const Berth& b) {
  Piece d{};
  d.cond = freight.device<float>(b.cond);
  d.lpc = freight.device<float>(b.lpc);
  d.pulse = freight.device<float>(b.pulse);
  d.uniforms = p.uniforms != nullptr ? freight.device<float>(b.uniforms) : nullptr;
  d.temperature = p.temperature != nullptr ? freight.device<float>(b.temperature) : nullptr;
  d.given = p.given != nullptr ? freight.device<uint8_t>(b.given) : nullptr;
  d.signal = freight.device<float>(b.signal);
  d.residual = freight.device<float>(b.residual);
  d.output = freight.device<float>(b.output);
  d.queues = freight.device<float>(b.queues);
  d.samples = freight.device<float>(b.samples);
  d.codes = p.codes != nullptr ? freight.device<uint8_t>(b.codes) : nullptr;
  d.logits = p.logits != nullptr ? freight.device<float>(b.logits) : nullptr;
  d.seed = p.seed;
  d.sentence = p.sentence;
  d.first_sample = p.first_sample;
  d.frames = p.frames;
  d.floor = p.floor;
  return d;
}

void unload(const WaveNetSizes& z, const HostPiece& p, const Freight& freight, const Berth& b) {
  const size_t T = static_cast<size_t>(p.frames * z.hop), past = static_cast<size_t>(z.past());
  std::memcpy(p.signal, freight.host(b.signal), past * kFloat);
  std::memcpy(p.residual, freight.host(b.residual), past * kFloat);
  std::memcpy(p.output, freight.host(b.output), kFloat);
  std::memcpy(p.samples, freight.host(b.samples), T * kFloat);
  if (p.codes != nullptr) std::memcpy(p.codes, freight.host(b.codes), T);
  if (p.logits != nullptr)
    std::memcpy(p.logits, freight.host(b.logits), T * static_cast<size_t>(z.levels) * kFloat);
  // The rings began with their oldest entry; after some steps that is another one.
  const int64_t steps = p.frames * (z.hop / z.bunch);
  const size_t row = static_cast<size_t>(z.residual) * kFloat;
  const unsigned char* from = freight.host(b.queues);
  auto* to = reinterpret_cast<unsigned char*>(p.queues);
  for (const int64_t d : z.dilations) {
    const size_t first = static_cast<size_t>(steps % d), count = static_cast<size_t>(d);
    std::memcpy(to, from + first * row, (count - first) * row);
    std::memcpy(to + (count - first) * row, from, first * row);
    from += count * row;
    to += count * row;
  }
}

// Which pieces each place takes, one after the other: the longest ones first, each where least
// lies.
struct Schedule {
  std::vector<size_t> order;  // of the pieces
  std::vector<int> first;     // of each place, then the end
  std::vector<int> steps;     // of each cluster
};

Schedule schedule(const Plan& plan, const std::vector<HostPiece>& pieces, int64_t steps_a_frame) {
  const auto places = static_cast<size_t>(plan.streams());
  std::vector<size_t> by_length;
  for (size_t i = 0; i < pieces.size(); ++i)
    if (pieces[i].frames > 0) by_length.push_back(i);
  std::stable_sort(by_length.begin(), by_length.end(),
                   [&](size_t a, size_t b) { return pieces[a].frames > pieces[b].frames; });
  std::vector<std::vector<size_t>> taken(places);
  std::vector<int64_t> frames(places, 0);
  // Neighbours in the list go to different clusters, then to different groups.
  std::vector<size_t> turn(places);
  std::iota(turn.begin(), turn.end(), size_t{0});
  const auto columns = static_cast<size_t>(plan.columns), groups = static_cast<size_t>(plan.groups);
  const auto rank = [&](size_t place) {
    const size_t column = place % columns, group = place / columns % groups;
    return (column * groups + group) * places + place / columns / groups;
  };
  std::sort(turn.begin(), turn.end(), [&](size_t a, size_t b) { return rank(a) < rank(b); });
  for (const size_t i : by_length) {
    const size_t place = *std::min_element(
        turn.begin(), turn.end(), [&](size_t a, size_t b) { return frames[a] < frames[b]; });
    taken[place].push_back(i);
    frames[place] += pieces[i].frames;
  }
  Schedule s;
  s.steps.assign(static_cast<size_t>(plan.clusters), 0);
  for (size_t place = 0; place < places; ++place) {
    s.first.push_back(static_cast<int>(s.order.size()));
    s.order.insert(s.order.end(), taken[place].begin(), taken[place].end());
    int& most = s.steps[place / columns / groups];
    most = std::max(most, static_cast<int>(frames[place] * steps_a_frame));
  }
  s.first.push_back(static_cast<int>(s.order.size()));
  return s;
}

}  // namespace

struct WaveNet::Prepared {
  Plan plan;
  Buffer<unsigned char> weights;
  Buffer<Stage> stages;
};

WaveNet::WaveNet(const WaveNetSizes& sizes, const WaveNetTensors& tensors, Precision precision)
    : sizes_(sizes), tensors_(sizes, tensors) {
  storage_ = storage_of(precision, tensors_);
}

WaveNet::~WaveNet() = default;

void WaveNet::wish(const PlanWishes& wishes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  prepared_.clear();
  wishes_ = wishes;
}

const WaveNet::Prepared& WaveNet::prepared(int streams) {
  const std::lock_guard<std::mutex> lock(mutex_);
  int room = 1;  // few different plans, whatever the numbers of streams are
  while (room < streams && room < kMostStreams) room *= 2;
  std::unique_ptr<Prepared>& entry = prepared_[room];
  if (entry == nullptr) {
    const StreamHandle stream = thread_stream();
    auto made = std::make_unique<Prepared>();
    made->plan = make_plan(sizes_, tensors_, storage_, device_info(), room, wishes_);
    made->weights =
        Buffer<unsigned char>(made->plan.weights.data(), made->plan.weights.size(), stream);
    made->stages = Buffer<Stage>(made->plan.stages.data(), made->plan.stages.size(), stream);
    wait(stream);
    entry = std::move(made);
  }
  return *entry;
}

const Plan& WaveNet::plan(int streams) { return prepared(std::max(streams, 1)).plan; }

void WaveNet::run(const std::vector<HostPiece>& pieces) {
  const auto busy =
      std::count_if(pieces.begin(), pieces.end(), [](const HostPiece& p) { return p.frames > 0; });
  if (busy == 0) return;
  const Prepared& ready = prepared(static_cast<int>(busy));
  const Plan& plan = ready.plan;
  const StreamHandle stream = thread_stream();
  const Schedule order = schedule(plan, pieces, sizes_.hop / sizes_.bunch);
  Freight freight(stream);
  std::vector<Berth> berths(pieces.size());
  for (const size_t i : order.order) load_inputs(sizes_, pieces[i], &freight, &berths[i]);
  freight.results_begin();
  for (const size_t i : order.order) load_results(sizes_, pieces[i], &freight, &berths[i]);
  freight.send();
  std::vector<Piece> on_it;
  for (const size_t i : order.order) on_it.push_back(on_device(pieces[i], freight, berths[i]));
  const Buffer<Piece> piece_list(on_it.data(), on_it.size(), stream);
  const Buffer<int> places(order.first.data(), order.first.size(), stream);
  const Buffer<int> steps(order.steps.data(), order.steps.size(), stream);
  const WaveNetArguments arguments{dimensions_of(sizes_), plan.layout,      ready.stages.get(),
                                   ready.weights.get(),   piece_list.get(), places.get(),
                                   steps.get(),           plan.groups};
  launch_wavenet(storage_, plan.columns,
                 Grid{plan.clusters * plan.cluster, plan.cluster, plan.threads, plan.layout.bytes},
                 stream, arguments);
  freight.fetch();
  for (const size_t i : order.order) unload(sizes_, pieces[i], freight, berths[i]);
}

}  // namespace dv::cuda
