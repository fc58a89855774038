"""Numba kernels: arrays in, arrays out; no strings, no I/O, no validation."""
