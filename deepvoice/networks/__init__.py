"""Speaking halves of the trained modules: numpy and the kernels, no torch."""
