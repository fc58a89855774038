"""Public interfaces for packages that extend shoal.

A package adds models, methods, hierarchies, formats and engines as entry points, and needs only the names of this
module and of :mod:`shoal.errors`; :mod:`shoal.testing` checks what it adds. See docs/plugins.md.

============== ========================== =============================================
group          object                     base
============== ========================== =============================================
shoal.models   class                      :class:`Model` or :class:`SensitiveModel`
shoal.definitions  object                 :class:`Definition`, under the model's name
shoal.methods  class                      :class:`Method` or :class:`PartitionMethod`
shoal.hierarchies  class                  :class:`Hierarchy`
shoal.formats  object                     :class:`Format`
shoal.engines  class                      :class:`Engine`
============== ========================== =============================================
"""

from __future__ import annotations

from shoal.io.engines.base import Engine
from shoal.io.formats import ColumnLabels, Format, Options, Writing
from shoal.io.formats.numbers import cast_to_schema
from shoal.methods.base import Method, Problem
from shoal.methods.partition import PartitionMethod
from shoal.models.base import Assessment, Condition, Model, SensitiveModel
from shoal.schema import BaseHierarchy as Hierarchy
from shoal.schema import Ladder, Schema
from shoal.schema.bound_hierarchy import build_ladder
from shoal.table import ByGroup, FrequencySet, Groups, Histogram, publish_groups
from shoal.verification.independent.definitions import Definition, Figure

__all__ = [
    "Assessment",
    "ByGroup",
    "ColumnLabels",
    "Condition",
    "Definition",
    "Engine",
    "Figure",
    "Format",
    "FrequencySet",
    "Groups",
    "Hierarchy",
    "Histogram",
    "Ladder",
    "Method",
    "Model",
    "Options",
    "PartitionMethod",
    "Problem",
    "Schema",
    "SensitiveModel",
    "Writing",
    "build_ladder",
    "cast_to_schema",
    "publish_groups",
]
