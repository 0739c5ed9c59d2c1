"""Parity of the kernels with the reference where Python is not at hand: golden tensors and a program in C++."""
