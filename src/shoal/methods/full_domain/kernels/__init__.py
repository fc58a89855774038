"""Compiled code for a lattice of recodings.

Arrays in, arrays out; no strings, no I/O, no validation.
"""

import shoal.kernels.cache  # noqa: F401 -- sets the cache directory of compiled code before Numba is imported
