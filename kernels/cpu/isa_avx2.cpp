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
}  // namespace avx2

extern const Table kAvx2;
const Table kAvx2 = {"avx2",           avx2::kHalfWeights, avx2::kInt8Group,      avx2::kInt8Zero,
                     avx2::elementary, avx2::dense,        avx2::gru_gates,       avx2::qrnn_pool,
                     avx2::wavenet,    avx2::int8_sums,    avx2::kBfloatProducts, avx2::affine,
                     avx2::encode,     avx2::layer_norm,   avx2::multiply_adds,   avx2::read_all};

}  // namespace dv
