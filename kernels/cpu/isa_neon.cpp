// The kernels for one instruction set. Everything lies in a namespace of its own and nothing of the
// standard library is included: an inline function compiled here could be the copy that the linker
// keeps for machines without these instructions.
#if !defined(__aarch64__)
#error "this file is for AArch64"
#endif

#include <arm_neon.h>

#include "table.hpp"

namespace dv {
namespace neon {
namespace {
#include "simd_neon.hpp"
//
#include "counts_neon.hpp"
//
#include "int8_neon.hpp"
//
#include "bfloat_plain.hpp"
//
#include "table_body.hpp"
}  // namespace
}  // namespace neon

extern const Table kNeon;
const Table kNeon = neon::table_named("neon");

}  // namespace dv
