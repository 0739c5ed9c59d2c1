// The kernels for one instruction set. Everything lies in a namespace of its own and nothing of the
// standard library is included: an inline function compiled here could be the copy that the linker
// keeps for machines without these instructions.
#if !defined(__aarch64__) || !defined(__ARM_FEATURE_DOTPROD)
#error "compile this file for AArch64 with -march=armv8.2-a+dotprod"
#endif

#include <arm_neon.h>

#include "table.hpp"

namespace dv {
namespace neondot {
namespace {
#include "simd_neon.hpp"
//
#include "counts_neon.hpp"
//
#include "int8_neondot.hpp"
//
#include "bfloat_plain.hpp"
//
#include "table_body.hpp"
}  // namespace
}  // namespace neondot

extern const Table kNeonDot;
const Table kNeonDot = neondot::table_named("neondot");

}  // namespace dv
