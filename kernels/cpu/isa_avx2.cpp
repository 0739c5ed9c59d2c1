// The kernels for one instruction set. Everything lies in a namespace of its own and nothing of the
// standard library is included: an inline function compiled here could be the copy that the linker
// keeps for machines without these instructions.
#if !defined(__AVX2__) || !defined(__FMA__) || !defined(__F16C__)
#error "compile this file with -mavx2 -mfma -mf16c"
#endif

#include <immintrin.h>

#include "table.hpp"

namespace dv {
namespace avx2 {
namespace {
#include "simd_avx2.hpp"
//
#include "int8_avx2.hpp"
//
#include "bfloat_plain.hpp"
//
#include "table_body.hpp"
}  // namespace
}  // namespace avx2

extern const Table kAvx2;
const Table kAvx2 = avx2::table_named("avx2");

}  // namespace dv
