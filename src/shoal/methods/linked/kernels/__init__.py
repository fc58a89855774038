"""Compiled code for sets of facts of people in a root group.

Arrays in, arrays out; no strings, no I/O, no validation.
"""

import shoal.kernels.cache  # noqa: F401 -- sets the cache directory of compiled code before Numba is imported
