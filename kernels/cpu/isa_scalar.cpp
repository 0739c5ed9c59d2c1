// The kernels for one instruction set. Everything lies in a namespace of its own and nothing of the
// standard library is included: an inline function compiled here could be the copy that the linker
// keeps for machines without these instructions.

#include "table.hpp"

namespace dv {
namespace scalar {
namespace {
#include "simd_scalar.hpp"
//
#include "int8_scalar.hpp"
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
}  // namespace scalar

extern const Table kScalar;
const Table kScalar = {
    "scalar",           scalar::kHalfWeights, scalar::kInt8Group,      scalar::kInt8Zero,
    scalar::elementary, scalar::dense,        scalar::gru_gates,       scalar::qrnn_pool,
    scalar::wavenet,    scalar::int8_sums,    scalar::kBfloatProducts, scalar::affine,
    scalar::encode,     scalar::layer_norm,   scalar::multiply_adds,   scalar::read_all};

}  // namespace dv
