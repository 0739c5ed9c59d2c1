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
#include "table_body.hpp"
}  // namespace
}  // namespace scalar

extern const Table kScalar;
const Table kScalar = scalar::table_named("scalar");

}  // namespace dv
