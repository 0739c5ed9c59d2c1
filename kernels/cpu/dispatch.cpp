#include "dispatch.hpp"

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#if defined(__x86_64__)
#include <cpuid.h>
#include <xmmintrin.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace dv {

extern const Table kScalar;
#if defined(__x86_64__)
extern const Table kAvx2;
extern const Table kAvx512;
extern const Table kAvx512Vnni;
extern const Table kAvx512Bf16;
#elif defined(__aarch64__)
extern const Table kNeon;
extern const Table kNeonDot;
#endif

namespace {

#if defined(__x86_64__)
// gcc 10 cannot ask for this one by name.
bool has_half_conversion() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#elif defined(__aarch64__)
bool has_dot_product() {
#if defined(__linux__)
  constexpr unsigned long kDotProduct = 1ul << 20;  // HWCAP_ASIMDDP
  return (getauxval(AT_HWCAP) & kDotProduct) != 0;
#elif defined(__APPLE__)
  return true;  // every Mac with this processor has it
#else
  return false;
#endif
}
#endif

std::vector<const Table*> supported_tables() {
  std::vector<const Table*> tables = {&kScalar};
#if defined(__x86_64__)
  // Each test asks for exactly the features that its file is compiled with.
  const bool avx2 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_half_conversion();
  if (avx2) tables.push_back(&kAvx2);
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
  const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
  if (avx512) tables.push_back(&kAvx512);
  if (vnni) tables.push_back(&kAvx512Vnni);
  if (vnni && __builtin_cpu_supports("avx512bf16")) tables.push_back(&kAvx512Bf16);
#elif defined(__aarch64__)
  tables.push_back(&kNeon);
  if (has_dot_product()) tables.push_back(&kNeonDot);
#endif
  return tables;
}

const Table* find(const std::string& name, const char* source) {
  std::string names;
  for (const Table* t : supported_tables()) {
    if (name == t->name) return t;
    names += std::string(names.empty() ? "" : ", ") + t->name;
  }
  throw std::invalid_argument(std::string(source) + " names the instruction set '" + name +
                              "': this machine has " + names);
}

const Table* choose() {
  const char* wanted = std::getenv("DEEPVOICE_CPU_ISA");
  if (wanted != nullptr && *wanted != '\0')
    return find(wanted, "environment variable DEEPVOICE_CPU_ISA");
  return supported_tables().back();
}

std::atomic<const Table*> in_use{nullptr};

}  // namespace

std::vector<std::string> supported_isas() {
  std::vector<std::string> names;
  for (const Table* t : supported_tables()) names.emplace_back(t->name);
  return names;
}

const Table& table() {
  const Table* t = in_use.load(std::memory_order_acquire);
  if (t == nullptr) {
    t = choose();
    in_use.store(t, std::memory_order_release);
  }
  return *t;
}

void set_isa(const std::string& name) {
  in_use.store(find(name, "set_isa"), std::memory_order_release);
}

#if defined(__x86_64__)
constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;

FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) {
  _mm_setcsr(static_cast<unsigned>(saved_) | kFlushToZero | kDenormalsAreZero);
}
FlushDenormals::~FlushDenormals() { _mm_setcsr(static_cast<unsigned>(saved_)); }
#elif defined(__aarch64__)
FlushDenormals::FlushDenormals() {
  asm volatile("mrs %0, fpcr" : "=r"(saved_));
  asm volatile("msr fpcr, %0" : : "r"(saved_ | (1ul << 24)));
}
FlushDenormals::~FlushDenormals() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }
#else
FlushDenormals::FlushDenormals() = default;
FlushDenormals::~FlushDenormals() = default;
#endif

}  // namespace dv
