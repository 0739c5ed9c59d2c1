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
}  // namespace avx512bf16

extern const Table kAvx512Bf16;
const Table kAvx512Bf16 = {
    "avx512bf16",          avx512bf16::kHalfWeights,    avx512bf16::kInt8Group,
    avx512bf16::kInt8Zero, avx512bf16::elementary,      avx512bf16::dense,
    avx512bf16::gru_gates, avx512bf16::qrnn_pool,       avx512bf16::wavenet,
    avx512bf16::int8_sums, avx512bf16::kBfloatProducts, avx512bf16::affine,
    avx512bf16::encode,    avx512bf16::layer_norm,      avx512bf16::multiply_adds,
    avx512bf16::read_all};

}  // namespace dv
