// All kernels of an instruction set and the table that names them. Included inside the instruction
// set's namespace, after its simd, int8 and bfloat files.

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
#include "bunch_body.hpp"
//
#include "wavenet_body.hpp"
//
#include "pair_body.hpp"

static constexpr Table table_named(const char* name) {
  return {name,         kHalfWeights,    kInt8Group,    kInt8Zero,       kInt8RectifiedZero,
          elementary,   dense,           gru_gates,     qrnn_pool,       wavenet,
          wavenet_pair, wavenet_partner, int8_sums,     kBfloatProducts, affine,
          encode,       layer_norm,      multiply_adds, read_all};
}
