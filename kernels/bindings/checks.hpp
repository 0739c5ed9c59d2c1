// Arrays from Python and the checks of their sizes.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>

namespace dv {

namespace nb = nanobind;

template <int kDims>
using In = nb::ndarray<const float, nb::ndim<kDims>, nb::c_contig, nb::device::cpu>;
template <int kDims>
using Out = nb::ndarray<float, nb::ndim<kDims>, nb::c_contig, nb::device::cpu>;

template <class Array>
void check_shape(const char* name, const Array& array, std::initializer_list<int64_t> wanted) {
  size_t axis = 0;
  for (const int64_t size : wanted) {
    if (static_cast<int64_t>(array.shape(axis)) != size)
      throw std::invalid_argument(std::string(name) + ": axis " + std::to_string(axis) + " has " +
                                  std::to_string(array.shape(axis)) + " entries, expected " +
                                  std::to_string(size));
    ++axis;
  }
}

template <class Array>
int64_t size_of(const Array& array, size_t axis) {
  return static_cast<int64_t>(array.shape(axis));
}

}  // namespace dv
