// Which instruction set runs.
#pragma once

#include <string>
#include <vector>

#include "table.hpp"

namespace dv {

// Names of the instruction sets that this build has and this machine runs, slowest first.
std::vector<std::string> supported_isas();

// The table in use: the fastest supported one, or that named by DEEPVOICE_CPU_ISA.
// Throws std::invalid_argument when the variable names another.
const Table& table();

// Uses another table from now on. Throws std::invalid_argument for a name that is not supported.
void set_isa(const std::string& name);

// While it lives, the processor treats denormal numbers as zero: decaying states would otherwise
// slow it down a hundredfold.
class FlushDenormals {
 public:
  FlushDenormals();
  ~FlushDenormals();
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned long saved_ = 0;
};

}  // namespace dv
