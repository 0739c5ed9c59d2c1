// The kernels for one instruction set. Everything lies in a namespace of its own and nothing of the
// standard library is included: an inline function compiled here could be the copy that the linker
// keeps for machines without these instructions.
#if !defined(__AVX512F__) || !defined(__AVX512BW__) || !defined(__AVX512VL__) || \
    !defined(__AVX512VNNI__)
#error "compile this file with -mavx512f -mavx512bw -mavx512vl -mavx512vnni -mavx2 -mfma -mf16c"
#endif

#include <immintrin.h>

#include "table.hpp"

namespace dv {
namespace avx512vnni {
namespace {
#include "simd_avx512.hpp"
//
#include "counts_avx512.hpp"
//
#include "int8_vnni.hpp"
//
#include "bfloat_plain.hpp"
//
#include "table_body.hpp"
}  // namespace
}  // namespace avx512vnni

extern const Table kAvx512Vnni;
const Table kAvx512Vnni = avx512vnni::table_named("avx512vnni");

}  // namespace dv
