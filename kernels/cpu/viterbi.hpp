// The best path through an acyclic graph of states with loops, frame by frame, inside a band.
#pragma once

#include <cstdint>

namespace dv {

// One recording and the graph of its text; see deepvoice.kernels.viterbi for the meaning and
// reference/viterbi.py for the equations. Sizes: F frames, T = ceil(F / stack) steps, C classes, S
// states, A arcs.
struct ViterbiProblem {
  int64_t frames, stack, classes, states, arcs;
  const float* emission;     // [F, C]
  const float* leave;        // [T, C]
  const float* enter;        // [T, C]
  const int32_t* class_of;   // [S]
  const int32_t* first_arc;  // [S + 1]
  const int32_t* source;     // [A], each before its target
  const float* bonus;        // [A]
  const float* initial;      // [S]
  const float* final;        // [S]
  const int32_t* low;        // [F], first state of the band
  const int32_t* high;       // [F], past its last
  int32_t* path;             // [F], the state of every frame

  // Throws std::invalid_argument where an index leads out of an array.
  void check() const;
};

constexpr float kImpossible = -1e30f;
constexpr int64_t kMaxArcs = 254;  // into one state, so that a move is one byte

// Writes the path and returns its score, which is below kImpossible / 2 where there is none.
float viterbi(const ViterbiProblem& problem);

}  // namespace dv
