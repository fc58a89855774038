"""Compiled code of the bounds."""

import shoal.kernels.cache  # noqa: F401 -- names the store of compiled code before Numba is asked for it
