"""Compiled code of the lower bounds."""

import shoal.kernels.cache  # noqa: F401 -- sets the cache directory of compiled code before Numba is imported
