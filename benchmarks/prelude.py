"""Imports that the cases of two_trees use, under the names of this tree.

A tree without this file is older than its packages; `--old-prelude FILE` gives the imports that fit it.
"""

# ruff: noqa: F401, F403
import os
from pathlib import Path

import numpy as np
import pyarrow as pa

from shoal.datasets.census import QUASI_IDENTIFIERS, SENSITIVE, census_table
from shoal.io.engines.base import Source
from shoal.io.engines.duckdb import DuckDBEngine
from shoal.io.formats.csv_dialect import CsvFormat
from shoal.methods import *
from shoal.methods import Problem
from shoal.models import *
from shoal.models import combine
from shoal.schema import Column, Ordered, Prefix, Role, Schema, Widths, read_table
from shoal.table import read_frequency_set
