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
#include "math_body.hpp"
//
#include "matrix_body.hpp"
//
#include "layers_body.hpp"
//
#include "limits_body.hpp"
//
#include "draw_body.hpp"
//
#include "wavenet_body.hpp"
}  // namespace
}  // namespace avx512vnni

extern const Table kAvx512Vnni;
const Table kAvx512Vnni = {
    "avx512vnni",          avx512vnni::kHalfWeights,    avx512vnni::kInt8Group,
    avx512vnni::kInt8Zero, avx512vnni::elementary,      avx512vnni::dense,
    avx512vnni::gru_gates, avx512vnni::qrnn_pool,       avx512vnni::wavenet,
    avx512vnni::int8_sums, avx512vnni::kBfloatProducts, avx512vnni::affine,
    avx512vnni::encode,    avx512vnni::layer_norm,      avx512vnni::multiply_adds,
    avx512vnni::read_all};

}  // namespace dv
