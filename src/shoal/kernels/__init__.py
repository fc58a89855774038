"""Compiled code that all methods share: the rule set, subsets of columns, and the cache of compiled code."""

import shoal.kernels.cache  # noqa: F401 - the cache must be in place before anything is compiled
