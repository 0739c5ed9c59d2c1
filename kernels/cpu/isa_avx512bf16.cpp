// The kernels for one instruction set. Everything lies in a namespace of its own and nothing of the
// standard library is included: an inline function compiled here could be the copy that the linker
// keeps for machines without these instructions.
#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512VL__) || \
    !defined(__AVX512VNNI__) || !defined(__AVX512BF16__)
#error \
    "compile this file with -mavx512f -mavx512bw -mavx512vl -mavx512vnni -mavx512bf16 -mavx2 -mfma -mf16c"
#endif

#include <immintrin.h>

#include "table.hpp"

namespace dv {
namespace avx512bf16 {
namespace {
#include "simd_avx512.hpp"
//
#include "counts_avx512.hpp"
//
#include "int8_vnni.hpp"
//
#include "bfloat_avx512.hpp"
//
#include "table_body.hpp"
}  // namespace
}  // namespace avx512bf16

extern const Table kAvx512Bf16;
const Table kAvx512Bf16 = avx512bf16::table_named("avx512bf16");

}  // namespace dv
