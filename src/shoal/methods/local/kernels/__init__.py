"""Compiled code for groups in regions of labels.

Arrays in, arrays out; no strings, no I/O, no validation.
"""

import shoal.kernels.cache  # noqa: F401 -- sets the cache directory of compiled code before Numba is imported
