// Compares every kernel on every instruction set of the machine with golden tensors (golden.py):
//
//     parity GOLDEN [HASHES]
//
// Prints the largest error of each op and instruction set. Writes a line for each WaveNet to
// HASHES, which must be the same on all machines with fused multiply-add. Exit status 1 for a
// difference.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "../cpu/dispatch.hpp"
#include "../cpu/packed_layer.hpp"
#include "../cpu/wavenet.hpp"

namespace {

using Floats = std::vector<float>;

struct Case {
  std::string op, name;
  std::map<std::string, double> numbers;
  std::map<std::string, Floats> tensors;

  double number(const std::string& key) const {
    const auto found = numbers.find(key);
    if (found == numbers.end()) throw std::runtime_error(name + " lacks the number " + key);
    return found->second;
  }
  int64_t size(const std::string& key) const { return static_cast<int64_t>(number(key)); }
  const Floats& tensor(const std::string& key) const {
    const auto found = tensors.find(key);
    if (found == tensors.end()) throw std::runtime_error(name + " lacks the tensor " + key);
    return found->second;
  }
  const float* data(const std::string& key) const { return tensor(key).data(); }
};

std::vector<Case> read_cases(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::vector<Case> cases;
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string kind, name;
    words >> kind >> name;
    if (kind == "case") {
      cases.emplace_back();
      cases.back().op = name;
      words >> cases.back().name;
    } else if (cases.empty()) {
      throw std::runtime_error("the golden file does not begin with a case");
    } else if (kind == "number") {
      words >> cases.back().numbers[name];
    } else {
      size_t count = 0;
      words >> count;
      Floats values(count);
      in.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(4 * count));
      cases.back().tensors[name] = std::move(values);
      in.ignore(1);
    }
  }
  if (cases.empty() || in.bad()) throw std::runtime_error("cannot read " + path);
  return cases;
}

// Collects what differs.
class Report {
 public:
  // |actual - expected| / (1 + |expected|) of every value within the tolerance.
  void compare(const Case& c, const Floats& actual, const std::string& expected, double tolerance,
               double median = 1e9) {
    const Floats& wanted = c.tensor(expected);
    if (actual.size() != wanted.size()) throw std::runtime_error(c.name + ": sizes differ");
    std::vector<double> errors(1, 0.0);
    for (size_t i = 0; i < actual.size(); ++i) {
      const double error = std::fabs(double{actual[i]} - wanted[i]) / (1 + std::fabs(wanted[i]));
      errors.push_back(std::isfinite(error) ? error : INFINITY);
    }
    std::sort(errors.begin(), errors.end());
    double& worst = worst_[c.op];
    worst = std::max(worst, errors.back());
    if (errors.back() > tolerance || errors[errors.size() / 2] > median)
      fail(c, expected + " is off by " + std::to_string(errors.back()));
  }

  void fail(const Case& c, const std::string& what) {
    ++failures_;
    std::cout << dv::table().name << ": " << c.op << " " << c.name << ": " << what << "\n";
  }

  void print() {
    std::cout << dv::table().name << ":";
    for (const auto& [op, error] : worst_) std::cout << " " << op << " " << error;
    std::cout << "\n";
    worst_.clear();
  }

  int failures() const { return failures_; }

 private:
  std::map<std::string, double> worst_;
  int failures_ = 0;
};

void check_elementary(const Case& c, Report* report) {
  Floats y(c.tensor("x").size());
  dv::table().elementary(static_cast<int>(c.size("which")), c.data("x"), y.data(),
                         static_cast<int64_t>(y.size()));
  report->compare(c, y, "expected", c.number("tolerance"));
}

void check_dense(const Case& c, Report* report) {
  Floats y(c.tensor("expected").size());
  dv::table().dense(c.data("x"), c.size("rows"), c.size("inputs"), c.data("weight"), c.data("bias"),
                    c.size("outputs"), static_cast<int>(c.size("activation")), y.data());
  report->compare(c, y, "expected", c.number("tolerance"));
}

dv::PackedLayer packed_layer(const Case& c) {
  return {c.data("weight"), c.data("bias"),   c.size("outputs"),
          c.size("taps"),   c.size("inputs"), c.number("bfloat") != 0};
}

void check_layer(const Case& c, Report* report) {
  Floats y(c.tensor("expected").size());
  packed_layer(c).apply(c.data("x"), c.size("rows"), c.size("left"), c.size("dilation"),
                        static_cast<int>(c.size("activation")), y.data());
  report->compare(c, y, "expected", c.number("tolerance"));
}

void check_residual(const Case& c, Report* report) {
  Floats y(c.tensor("expected").size());
  packed_layer(c).residual(c.data("x"), c.data("norm_weight"), c.data("norm_bias"), c.size("rows"),
                           c.size("dilation"), y.data());
  report->compare(c, y, "expected", c.number("tolerance"));
}

void check_layer_norm(const Case& c, Report* report) {
  Floats y(c.tensor("expected").size());
  dv::layer_norm(c.data("x"), c.data("weight"), c.data("bias"), c.size("rows"), c.size("channels"),
                 y.data());
  report->compare(c, y, "expected", c.number("tolerance"));
}

void check_gru(const Case& c, Report* report) {
  const int64_t hidden = c.size("hidden"), gates = 3 * hidden;
  const dv::PackedLayer input(c.data("input_weight"), c.data("bias"), gates, 1, c.size("inputs"),
                              false);
  const dv::PackedLayer recurrent(c.data("recurrent_weight"), c.data("bias"), gates, 1, hidden,
                                  false);
  Floats h = c.tensor("h0"), y(c.tensor("expected").size());
  dv::run_gru(input, recurrent, c.data("x"), c.size("rows"), c.number("reverse") != 0, h.data(),
              y.data());
  report->compare(c, y, "expected", c.number("tolerance"));
  report->compare(c, h, "expected_last", c.number("tolerance"));
}

void check_qrnn_pool(const Case& c, Report* report) {
  Floats cell = c.tensor("h0"), y(c.tensor("expected").size());
  dv::table().qrnn_pool(c.data("candidate"), c.data("forget"), c.data("output"), c.size("rows"),
                        c.size("hidden"), cell.data(), y.data());
  report->compare(c, y, "expected", c.number("tolerance"));
  report->compare(c, cell, "expected_last", c.number("tolerance"));
}

void check_int8_sums(const Case& c, Report* report) {
  const int64_t outputs = c.size("outputs"), columns = c.size("columns");
  const dv::PackedMatrix packed(c.data("weight"), outputs, c.size("inputs"),
                                c.number("rectified") != 0, static_cast<float>(c.number("limit")),
                                dv::table());
  const int64_t width = dv::padded(static_cast<int>(outputs));
  // Beginnings of sums are read as outputs are, so there must be whole blocks of them.
  std::vector<int32_t> sums(static_cast<size_t>(columns * width));
  dv::table().int8_sums(packed.matrix(), c.data("x"), columns, sums.data());
  for (int64_t column = 0; column < columns; ++column) {
    if (std::memcmp(sums.data() + column * width, c.data("expected_sums") + column * outputs,
                    static_cast<size_t>(4 * outputs)) != 0)
      report->fail(c, "sums differ in column " + std::to_string(column));
  }
}

// One WaveNet with everything that a run reads and writes.
struct WaveNetCase {
  explicit WaveNetCase(const Case& given) : c(given) {
    std::vector<int64_t> dilations;
    for (float d : c.tensor("dilations")) dilations.push_back(static_cast<int64_t>(d));
    sizes = {c.size("hop"),           c.size("bunch"),       dilations,
             c.size("residual"),      c.size("skip"),        c.size("head"),
             c.size("levels"),        c.size("history"),     c.size("head_history"),
             c.size("harmonics"),     c.size("lpc_order"),   c.number("pre_emphasis"),
             c.number("signal_gain"), c.number("code_scale")};
    for (float code : c.tensor("codes")) codes.push_back(static_cast<uint8_t>(code));
    drawn.resize(codes.size());
    samples.resize(codes.size());
    logits.resize(codes.size() * static_cast<size_t>(sizes.levels));
    signal.resize(static_cast<size_t>(sizes.past()));
    residual = signal;
    queues.resize(static_cast<size_t>(sizes.dilation_sum() * sizes.residual));
  }

  dv::WaveNetTensors tensors() const {
    return {c.data("input_weight"),   c.data("input_bias"),      c.data("past_weight"),
            c.data("current_weight"), c.data("residual_weight"), c.data("residual_bias"),
            c.data("skip_weight"),    c.data("bunch_weight"),    c.data("bunch_bias"),
            c.data("draw_weight"),    c.data("output_weight"),   c.data("output_bias"),
            c.data("limits")};
  }

  // A run from silence; it draws unless codes are given.
  dv::WaveNetRun run(bool given) {
    for (Floats* state : {&signal, &residual, &output, &queues})
      std::fill(state->begin(), state->end(), 0.0f);
    dv::WaveNetRun r{};
    r.frames = c.size("frames");
    r.cond = c.data("cond_FC");
    r.lpc = c.data("lpc_FK");
    r.pulse = c.data("pulse_NQ2");
    r.uniforms = given ? nullptr : c.data("uniforms_T");
    r.temperature = given ? nullptr : c.data("temperature_F");
    r.floor = static_cast<float>(c.number("floor"));
    r.given = given ? codes.data() : nullptr;
    r.signal = signal.data();
    r.residual = residual.data();
    r.output = output.data();
    r.queues = queues.data();
    r.samples = samples.data();
    r.codes = given ? nullptr : drawn.data();
    r.logits = given ? logits.data() : nullptr;
    return r;
  }

  const Case& c;
  dv::WaveNetSizes sizes;
  std::vector<uint8_t> codes, drawn;
  Floats samples, logits, signal, residual, output = Floats(1), queues;
};

uint64_t hash(uint64_t h, const void* data, size_t bytes) {  // FNV-1a
  const auto* const at = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < bytes; ++i) h = (h ^ at[i]) * 1099511628211u;
  return h;
}

// Scores given codes, draws alone, on two threads and beside other streams. Returns a hash of all
// outputs.
uint64_t check_wavenet(const Case& c, Report* report) {
  WaveNetCase scored(c), drawn(c), first(c), second(c), third(c);
  dv::WaveNet net(scored.sizes, scored.tensors(), static_cast<dv::Precision>(c.size("precision")));
  net.run({scored.run(true)});
  report->compare(c, scored.logits, "expected_logits", c.number("tolerance"),
                  c.number("tolerance_median"));
  report->compare(c, scored.samples, "expected_samples", c.number("tolerance_samples"));
  net.run({drawn.run(false)});
  if (c.tensors.count("expected_codes") != 0) {
    const Floats codes(drawn.drawn.begin(), drawn.drawn.end());
    report->compare(c, codes, "expected_codes", 0.0);
    report->compare(c, drawn.samples, "expected_drawn", c.number("tolerance_samples"));
  }
  for (int patience : {0, dv::WaveNet::kPatience}) {
    WaveNetCase paired(c);
    net.run_paired(paired.run(false), patience);
    if (paired.samples != drawn.samples || paired.queues != drawn.queues)
      report->fail(c, "two threads differ from one");
  }
  net.run({first.run(false), second.run(false), third.run(false)});
  for (const WaveNetCase* other : {&first, &second, &third})
    if (other->samples != drawn.samples || other->queues != drawn.queues)
      report->fail(c, "streams side by side differ from a stream alone");
  uint64_t h = 14695981039346656037u;
  for (const Floats* part : {&scored.logits, &drawn.samples, &drawn.queues})
    h = hash(h, part->data(), 4 * part->size());
  return h;
}

int run(const std::string& golden, const char* hashes) {
  const std::vector<Case> cases = read_cases(golden);
  const std::map<std::string, void (*)(const Case&, Report*)> checks = {
      {"elementary", check_elementary}, {"dense", check_dense},           {"layer", check_layer},
      {"residual", check_residual},     {"layer_norm", check_layer_norm}, {"gru", check_gru},
      {"qrnn_pool", check_qrnn_pool},   {"int8_sums", check_int8_sums}};
  Report report;
  std::map<std::string, uint64_t> fused;
  for (const std::string& isa : dv::supported_isas()) {
    dv::set_isa(isa);
    for (const Case& c : cases) {
      if (c.op != "wavenet") {
        checks.at(c.op)(c, &report);
        continue;
      }
      const uint64_t h = check_wavenet(c, &report);
      if (isa != "scalar" && fused.emplace(c.name, h).first->second != h)
        report.fail(c, "differs from another instruction set");
    }
    report.print();
  }
  if (hashes != nullptr) {
    std::ofstream out(hashes);
    for (const auto& [name, h] : fused) out << name << " " << h << "\n";
  }
  std::cout << cases.size() << " cases, " << report.failures() << " differences\n";
  return report.failures() == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "parity GOLDEN [HASHES]\n";
    return 2;
  }
  try {
    return run(argv[1], argc == 3 ? argv[2] : nullptr);
  } catch (const std::exception& error) {
    std::cerr << "parity: " << error.what() << "\n";
    return 2;
  }
}
