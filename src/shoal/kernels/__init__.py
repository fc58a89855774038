"""Compiled code that all methods share.

The rule set, counts of column subsets, and the cache of compiled code.
"""

import shoal.kernels.cache  # noqa: F401 - the cache must be in place before anything is compiled
