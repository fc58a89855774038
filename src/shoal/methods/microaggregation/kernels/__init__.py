"""Compiled code for groups of near points.

Arrays in, arrays out; no strings, no I/O, no validation.
"""

import shoal.kernels.cache  # noqa: F401 -- sets the cache of compiled code before Numba uses it
