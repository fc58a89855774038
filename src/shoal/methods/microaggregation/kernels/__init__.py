"""Compiled code for groups of near points: arrays in, arrays out; no strings, no I/O, no validation."""

import shoal.kernels.cache  # noqa: F401 -- names the store of compiled code before Numba is asked for it
