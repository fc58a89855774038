"""Released columns as distributions over cells of the original's values.

A label only says which values it covers, so the mass of a row is divided evenly over the covered values (Kifer and
Gehrke, "Injecting utility into anonymized datasets", SIGMOD 2006, section 2). Values are grouped in cells to keep the
measures cheap: a number column of many values has cells with about equally many original rows, a text column of many
values one cell for each of the most frequent ones and one for the rest. Missing values have a cell of their own, and
values that the original does not have go to one further cell, *elsewhere*.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.errors import TableError
from shoal.schema import Hierarchy, Schema
from shoal.utility.coded_tables import CodedColumn
from shoal.utility.labels import parse_number, read_label, read_labels

MAX_NUMBER_CELLS = 32
MAX_TEXT_CELLS = 200


@dataclass(frozen=True)
class ColumnReading:
    """Column of both tables in cells 0, 1, ...; the last one is *elsewhere*.

    Attributes
    ----------
    original
        int32 (n,): the cell of each original row.
    released
        int32 (m,): the label of each released row.
    cell_mass
        float64 (labels, cells): the distribution of a label's mass over the cells; rows sum to 1.
    cell_of
        The cell of each original value, for other tables of the same columns.
    middle
        float64 (cells,): for numbers, the mean of the original rows of a cell (NaN where it has none); else None.
    exact
        float64 (n,): the original numbers, NaN where missing; None where the column is not numeric.
    number
        float64 (labels,): a label as one number: itself, or the middle of its interval; None as above.
    """

    name: str
    original: npt.NDArray[np.int32]
    released: npt.NDArray[np.int32]
    cell_mass: npt.NDArray[np.float64]
    cell_of: dict[str | None, int]
    cuts: npt.NDArray[np.float64] | None
    middle: npt.NDArray[np.float64] | None
    exact: npt.NDArray[np.float64] | None
    number: npt.NDArray[np.float64] | None

    @property
    def cells(self) -> int:
        """Number of cells, *elsewhere* included."""
        return int(self.cell_mass.shape[1])

    @property
    def numeric(self) -> bool:
        """Return whether all original values are numbers or missing."""
        return self.exact is not None

    def cells_of(self, column: CodedColumn) -> npt.NDArray[np.int32]:
        """Return the cells of the rows of a third table."""
        cells = np.asarray([self._cell(value) for value in column.values], np.int32)
        return np.asarray(cells[column.code])

    def _cell(self, value: str | None) -> int:
        if value in self.cell_of:
            return self.cell_of[value]
        number = parse_number(value)
        if self.cuts is not None and number is not None:
            return int(np.searchsorted(self.cuts, number, side="right"))
        return self.cells - 1


def read_columns(
    original: Sequence[CodedColumn], released: Sequence[CodedColumn], schema: Schema
) -> tuple[ColumnReading, ...]:
    """Read the same columns of two tables.

    Cost: rows, and labels times values.
    """
    return tuple(
        _read(before, after, schema.columns[before.name].hierarchy if before.name in schema.columns else None)
        for before, after in zip(original, released, strict=True)
    )


def _read(before: CodedColumn, after: CodedColumn, hierarchy: Hierarchy | None) -> ColumnReading:
    numbers = [parse_number(value) for value in before.values]
    numeric = all(number is not None for number, value in zip(numbers, before.values, strict=True) if value is not None)
    numeric = numeric and any(number is not None for number in numbers)
    count = before.count
    as_float = np.asarray([np.nan if number is None else number for number in numbers])
    cuts = None
    if numeric:
        cell, cuts = _number_cells(as_float, count)
    else:
        cell = _text_cells(before.values, count)
    cells = int(cell.max()) + 2
    read = read_labels(after.values, before.values, hierarchy, before.name)
    low, high = (float(np.nanmin(as_float)), float(np.nanmax(as_float))) if numeric else (0.0, 0.0)
    middles = np.full(len(after.values), np.nan)
    cell_mass = np.zeros((len(after.values), cells))
    for label in range(len(after.values)):
        covered = np.flatnonzero(read.rows(label, label + 1)[0])
        middles[label] = _as_number(after.values[label], as_float[covered], low, high) if numeric else np.nan
        if len(covered):
            cell_mass[label] = np.bincount(cell[covered], minlength=cells) / len(covered)
        else:
            cell_mass[label, _cell_of_unknown(after.values[label], cuts, cells)] = 1.0
    middle = exact = number = None
    if numeric:
        exact = as_float[before.code]
        known = ~np.isnan(as_float)
        rows_by_cell = np.bincount(cell[known], weights=count[known], minlength=cells)
        sums = np.bincount(cell[known], weights=count[known] * as_float[known], minlength=cells)
        middle = np.divide(sums, rows_by_cell, out=np.full(cells, np.nan), where=rows_by_cell > 0)
        number = middles
    cell_of = {value: int(cell[index]) for index, value in enumerate(before.values)}
    return ColumnReading(
        before.name, cell[before.code].astype(np.int32), after.code, cell_mass, cell_of, cuts, middle, exact, number
    )


def _number_cells(
    numbers: npt.NDArray[np.float64], count: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Divide numbers into cells by quantiles; return cells and cut points.

    Missing numbers (NaN) have the last cell.
    """
    known = ~np.isnan(numbers)
    order = np.argsort(numbers[known], kind="stable")
    values, rows = numbers[known][order], count[known][order]
    if len(values) <= MAX_NUMBER_CELLS:
        cuts = (values[1:] + values[:-1]) / 2
    else:
        reached = np.cumsum(rows) / rows.sum()
        ends = np.searchsorted(reached, np.arange(1, MAX_NUMBER_CELLS) / MAX_NUMBER_CELLS)
        ends = np.unique(np.minimum(ends, len(values) - 2))
        cuts = (values[ends] + values[ends + 1]) / 2
    cell = np.full(len(numbers), len(cuts) + 1, np.int64)
    cell[known] = np.searchsorted(cuts, numbers[known], side="right")
    return cell, cuts


def _text_cells(values: Sequence[str | None], count: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return a cell for each value, or for each of the most frequent ones.

    The other values share a cell; missing values have their own.
    """
    if len(values) <= MAX_TEXT_CELLS:
        return np.arange(len(values))
    order = np.argsort(-count, kind="stable")
    order = np.asarray([index for index in order if values[index] is not None])
    cell = np.full(len(values), MAX_TEXT_CELLS - 1, np.int64)
    cell[order[: MAX_TEXT_CELLS - 1]] = np.arange(MAX_TEXT_CELLS - 1)
    if None in values:
        cell[values.index(None)] = MAX_TEXT_CELLS
    return cell


def _cell_of_unknown(label: str | None, cuts: npt.NDArray[np.float64] | None, cells: int) -> int:
    """Return the cell of a label that covers no original value.

    A number, such as a mean, has the cell that contains it.
    """
    number = parse_number(label)
    if cuts is None or number is None:
        return cells - 1
    return int(np.searchsorted(cuts, number, side="right"))


def _as_number(label: str | None, covered: npt.NDArray[np.float64], low: float, high: float) -> float:
    """Return a label as one number.

    It is the number itself, the middle of its interval within the original's range, or the middle of the covered
    values.
    """
    if label is None:
        return float("nan")
    region = read_label(label)
    if region.low is not None and region.high is not None:
        if region.low == region.high:
            return region.low
        return (min(max(region.low, low), high) + max(min(region.high, high), low)) / 2
    if region.everything:
        return (low + high) / 2
    known = covered[~np.isnan(covered)]
    return float(known.min() + known.max()) / 2 if len(known) else float("nan")


def draw_rows(
    readings: Sequence[ColumnReading], random: np.random.Generator, rows: npt.NDArray[np.int64] | None = None
) -> npt.NDArray[np.int32]:
    """Draw the cells (rows, columns) of released rows from their labels.

    This turns the release into microdata. ``rows`` selects released rows; all by default.
    """
    if not readings:
        raise TableError("compare.tables-share-no-column")
    drawn = []
    for one in readings:
        labels = one.released if rows is None else one.released[rows]
        steps = np.cumsum(one.cell_mass, axis=1)
        steps[:, -1] = 1.0
        # a label of one cell is that cell; a draw u selects the first cell with a cumulative mass above u
        u = random.random(len(labels))
        cell = np.zeros(len(labels), np.int32)
        order = np.argsort(labels, kind="stable")
        start = np.searchsorted(labels[order], np.arange(len(one.cell_mass) + 1))
        for label in range(len(one.cell_mass)):
            mine = order[start[label] : start[label + 1]]
            cell[mine] = np.searchsorted(steps[label], u[mine], side="right")
        drawn.append(np.minimum(cell, one.cells - 1))
    return np.stack(drawn, axis=1).astype(np.int32)
