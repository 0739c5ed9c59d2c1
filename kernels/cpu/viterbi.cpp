#include "viterbi.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace dv {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw std::invalid_argument("viterbi: " + what);
}

// Updates the states [low, high) in place for one frame; going down, the sources of a state still
// have the frame before.
void advance(const ViterbiProblem& p, int64_t frame, float* score, uint8_t* moves) {
  const int64_t low = p.low[frame], high = p.high[frame];
  const float* const emission = p.emission + frame * p.classes;
  const float* const leave = p.leave + frame / p.stack * p.classes;
  const float* const enter = p.enter + frame / p.stack * p.classes;
  for (int64_t s = high - 1; s >= low; --s) {
    const int32_t first = p.first_arc[s], past = p.first_arc[s + 1], kind = p.class_of[s];
    float best = kImpossible;
    int32_t chosen = first - 1;
    for (int32_t a = first; a < past; ++a) {
      const int32_t from = p.source[a];
      const float value = (score[from] + leave[p.class_of[from]]) + p.bonus[a];
      if (value > best) {
        best = value;
        chosen = a;
      }
    }
    best += enter[kind];
    const bool moved = best > score[s];
    moves[s - low] = moved ? static_cast<uint8_t>(chosen - first + 1) : 0;
    score[s] = (moved ? best : score[s]) + emission[kind];
  }
}

}  // namespace

void ViterbiProblem::check() const {
  if (frames < 1 || stack < 1 || classes < 1 || states < 1) refuse("every size must be at least 1");
  if (first_arc[0] != 0 || first_arc[states] != arcs)
    refuse("first_arc must run from 0 to the arcs");
  for (int64_t s = 0; s < states; ++s) {
    if (class_of[s] < 0 || class_of[s] >= classes) refuse("a class is outside the scores");
    const int64_t into = static_cast<int64_t>(first_arc[s + 1]) - first_arc[s];
    if (into < 0 || into > kMaxArcs) refuse("a state has more than 254 arcs, or first_arc falls");
  }
  for (int64_t s = 0; s < states; ++s)
    for (int32_t a = first_arc[s]; a < first_arc[s + 1]; ++a)
      if (source[a] < 0 || source[a] >= s)
        refuse("an arc must come from a state before its target");
  for (int64_t f = 0; f < frames; ++f) {
    if (low[f] < 0 || high[f] <= low[f] || high[f] > states) refuse("the band leaves the graph");
    if (f && (low[f] < low[f - 1] || high[f] < high[f - 1])) refuse("the band must not go back");
  }
}

float viterbi(const ViterbiProblem& p) {
  std::vector<float> score(static_cast<size_t>(p.states), kImpossible);
  std::vector<int64_t> offset(static_cast<size_t>(p.frames) + 1, 0);
  for (int64_t f = 0; f < p.frames; ++f) offset[f + 1] = offset[f] + p.high[f] - p.low[f];
  std::vector<uint8_t> moves(static_cast<size_t>(offset[p.frames]));
  for (int64_t s = p.low[0]; s < p.high[0]; ++s)
    score[s] = p.initial[s] + p.emission[p.class_of[s]];
  for (int64_t f = 1; f < p.frames; ++f) {
    advance(p, f, score.data(), moves.data() + offset[f]);
    std::fill(score.begin() + p.low[f - 1], score.begin() + std::min(p.low[f], p.high[f - 1]),
              kImpossible);  // left behind
  }
  const int64_t last = p.frames - 1;
  int32_t state = p.low[last];
  float best = kImpossible;
  for (int32_t s = p.low[last]; s < p.high[last]; ++s) {
    const float value = score[s] + p.final[s];
    if (value > best) {
      best = value;
      state = s;
    }
  }
  if (best <= kImpossible / 2) return best;
  for (int64_t f = last; f >= 0; --f) {
    p.path[f] = state;
    const uint8_t move = f ? moves[offset[f] + state - p.low[f]] : 0;
    if (move) state = p.source[p.first_arc[state] + move - 1];
  }
  return best;
}

}  // namespace dv
