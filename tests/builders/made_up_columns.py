"""Columns of made-up values, for tables that no rule was written for."""

from __future__ import annotations

import random
from datetime import datetime, timedelta


class Draw:
    """Columns of made-up values."""

    def __init__(self, seed: int, rows: int = 400) -> None:
        self.random = random.Random(seed)
        self.rows = rows

    def words(self, *values: str, even: bool = False) -> list[str]:
        """Values, the first most often."""
        weights = [1.0 if even else 1 / (n + 1) for n in range(len(values))]
        return self.random.choices(values, weights, k=self.rows)

    def whole(self, low: int, high: int) -> list[int]:
        return [self.random.randint(low, high) for _ in range(self.rows)]

    def counts(self, mean: float) -> list[int]:
        """Small counts, most of them 0."""
        return [int(self.random.expovariate(1 / mean)) for _ in range(self.rows)]

    def real(self, low: float, high: float, digits: int = 1) -> list[float]:
        return [round(self.random.uniform(low, high), digits) for _ in range(self.rows)]

    def normal(self, mean: float, deviation: float, digits: int = 1) -> list[float]:
        return [round(self.random.gauss(mean, deviation), digits) for _ in range(self.rows)]

    def money(self, low: float, high: float, digits: int = 2) -> list[float]:
        return [round(low + (high - low) * self.random.random() ** 3, digits) for _ in range(self.rows)]

    def marks(self, yes: str = "1", no: str = "0", share: float = 0.15) -> list[str]:
        return [yes if self.random.random() < share else no for _ in range(self.rows)]

    def keys(self, start: int, step: int = 7, before: str = "") -> list[str]:
        return [f"{before}{start + step * n}" for n in self.random.sample(range(self.rows), self.rows)]

    def dates(self, form: str, first: int = 2010, last: int = 2022) -> list[str]:
        start = datetime(first, 1, 1)
        span = (last - first) * 365 * 86_400
        return [(start + timedelta(seconds=self.random.randrange(span))).strftime(form) for _ in range(self.rows)]

    def sentences(self, *parts: str) -> list[str]:
        """Remarks in words, hardly one like another."""
        return [
            f"{' '.join(self.random.sample(parts, min(4, len(parts))))} {self.random.randint(2, 999)}"
            for _ in range(self.rows)
        ]

    def with_gaps(self, values: list, share: float) -> list:
        return ["" if self.random.random() < share else value for value in values]
