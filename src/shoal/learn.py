"""Deprecated name of :mod:`shoal.sklearn`."""

import warnings

from shoal.sklearn import *  # noqa: F403
from shoal.sklearn import __all__ as __all__

warnings.warn("shoal.learn is deprecated; import from shoal.sklearn.", DeprecationWarning, stacklevel=2)
