"""Reference implementation of anti-unification on tuples and sets.

Armengol and Torra, "Generalization-based k-anonymization", section 3. A row is (values of the quasi-identifiers, class,
records). A pattern is a tuple of values with ``STAR`` for ``*``. Functions that are figures of the paper have the names
that the figures give them.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

STAR = -1

Values = tuple[Any, ...]
Row = tuple[Values, Any, int]
Accept = Callable[[list[int]], bool]


def anti_unification(records: Sequence[Values]) -> Values:
    """Return the values that all records share, ``*`` elsewhere."""
    return tuple(column[0] if len(set(column)) == 1 else STAR for column in zip(*records, strict=True))


def stars(pattern: Values) -> int:
    return sum(value == STAR for value in pattern)


def fits(values: Values, pattern: Values) -> bool:
    return all(wanted in (STAR, value) for value, wanted in zip(values, pattern, strict=True))


def anonymize(
    rows: Sequence[Row], k: int, indifferent: int, order: Sequence[str]
) -> tuple[dict[tuple[Values, Any], tuple[int, int]], list[int]]:
    """Find patterns (figure 1).

    Return {(pattern, class): (records it was built from, pass)} and for each row its pass or -1.
    """
    patterns: dict[tuple[Values, Any], tuple[int, int]] = {}
    identified = [-1] * len(rows)
    for turn, condition in enumerate(order):
        for row_class in sorted({row[1] for row in rows}):
            analyze_partition(rows, row_class, k, indifferent, condition, turn, patterns, identified)
    return patterns, identified


def analyze_partition(rows, row_class, k, indifferent, condition, turn, patterns, identified) -> None:
    """Analyze one set of the correct partition (figure 3).

    Repeat on the remaining rows until nothing new is found.
    """
    while True:
        left = [i for i, row in enumerate(rows) if row[1] == row_class and identified[i] == -1]
        if sum(rows[i][2] for i in left) < k:
            return
        found: dict[Values, frozenset[int]] = {}
        analyze_set(rows, frozenset(left), k, indifferent, condition, found)
        if not found:
            return
        for pattern, members in found.items():
            patterns[pattern, row_class] = (sum(rows[i][2] for i in members), turn)
            for i in members:
                identified[i] = turn


def analyze_set(rows, members, k, indifferent, condition, found) -> None:
    """Analyze a set of rows (figure 4).

    The result is a pattern if few enough attributes differ, else the sets of every partition in P_cond.
    """
    pattern = anti_unification([rows[i][0] for i in members])
    if stars(pattern) <= indifferent and stars(pattern) < len(pattern):
        found[pattern] = members
        return
    partitions = {}
    for attribute, value in enumerate(pattern):
        if value == STAR:
            partition = defaultdict(set)
            for i in members:
                partition[rows[i][0][attribute]].add(i)
            partitions[attribute] = partition
    if not partitions:
        return
    numbers = {attribute: len(partition) for attribute, partition in partitions.items()}
    chosen = min(numbers.values()) if condition == "<" else max(numbers.values())
    for attribute, partition in partitions.items():
        if numbers[attribute] == chosen:
            for part in partition.values():
                if sum(rows[i][2] for i in part) >= k:
                    analyze_set(rows, frozenset(part), k, indifferent, condition, found)


def overlap(rows: Sequence[Row], patterns) -> tuple[dict, dict, int, int]:
    """Count the records that fit patterns.

    Return support and exclusive records of each (pattern, class), the number of records that fit a pattern of their
    class, and the number of those disclosed.
    """
    support = dict.fromkeys(patterns, 0)
    own = dict.fromkeys(patterns, 0)
    fitting = disclosed = 0
    for values, row_class, records in rows:
        all_fits = [known for known in patterns if fits(values, known[0])]
        same = [known for known in all_fits if known[1] == row_class]
        for known in same:
            support[known] += records
        if len(same) == 1:
            own[same[0]] += records
        fitting += records * bool(same)
        disclosed += records * (bool(same) and len(same) == len(all_fits))
    return support, own, fitting, disclosed


def left_without_small_patterns(rows: Sequence[Row], patterns, k: int) -> int:
    """Count records outside all patterns with k exclusive records."""
    own = overlap(rows, patterns)[1]
    large = [known for known in patterns if own[known] >= k]
    return sum(
        records
        for values, row_class, records in rows
        if not any(known[1] == row_class and fits(values, known[0]) for known in large)
    )


def assign(rows: Sequence[Row], patterns, k: int, accept: Accept | None = None) -> list[Values | None]:
    """Assign rows to patterns by the rule of the kernel.

    Rows join the pattern they prefer, the smallest groups are dissolved, and the rest tries again.
    """
    groups = sorted({pattern for pattern, _ in patterns})
    support = {group: sum(row[2] for row in rows if fits(row[0], group)) for group in groups}

    def preference(i: int, group: Values):
        return ((group, rows[i][1]) not in patterns, stars(group), -support[group], group)

    wishes = [
        sorted((group for group in groups if fits(row[0], group)), key=lambda group: preference(i, group))
        for i, row in enumerate(rows)
    ]
    result: list[Values | None] = [None] * len(rows)
    while True:
        waiting = [i for i in range(len(rows)) if result[i] is None]
        living = set()
        for group in groups:
            whole = [i for i in waiting if group in wishes[i]]
            if size(rows, whole) >= k and (accept is None or accept(whole)):
                living.add(group)
        members = settle(rows, waiting, wishes, living, k, accept)
        for group, inside in members.items():
            for i in inside:
                result[i] = group
        if not members:
            return result


def size(rows: Sequence[Row], members: Sequence[int]) -> int:
    return sum(rows[i][2] for i in members)


def joined(waiting, wishes, living) -> dict[Values, list[int]]:
    """Assign every waiting row to its most preferred group that is alive.

    Each group that is alive is a key.
    """
    members: dict[Values, list[int]] = {group: [] for group in living}
    for i in waiting:
        first = next((group for group in wishes[i] if group in living), None)
        if first is not None:
            members[first].append(i)
    return members


def settle(rows, waiting, wishes, living, k, accept) -> dict[Values, list[int]]:
    """Dissolve groups until all of them are valid.

    Small groups are dissolved one by one, then the smaller half of those that fail.
    """
    living = set(living)
    while True:
        members = joined(waiting, wishes, living)
        small = [group for group in living if size(rows, members[group]) < k]
        if not small:
            break
        least = min(size(rows, members[group]) for group in small)
        living.remove(max(group for group in small if size(rows, members[group]) == least))
    while accept is not None:
        members = joined(waiting, wishes, living)
        failing = sorted(group for group in living if not accept(members[group]))
        if not failing:
            break
        failing.sort(key=lambda group: size(rows, members[group]))
        living -= set(failing[: (len(failing) + 1) // 2])
    return joined(waiting, wishes, living)


def sweep(rows: Sequence[Row], k: int, number: int) -> dict[Values, int]:
    """Count the records of every pattern with exactly ``number`` stars.

    Patterns of stars alone, and patterns that fewer than k records fit, are left out.
    """
    records: dict[Values, int] = defaultdict(int)
    width = len(rows[0][0]) if rows else 0
    for values, _, count in rows:
        for chosen in combinations(range(width), number) if number < width else ():
            records[tuple(STAR if a in chosen else value for a, value in enumerate(values))] += count
    return {pattern: count for pattern, count in records.items() if count >= k}


def form_groups(
    rows: Sequence[Row],
    k: int,
    indifferent: int,
    order: Sequence[str],
    accept: Accept | None = None,
    keep_rest: bool = False,
) -> list[Values | None]:
    """Return the published pattern of each row, or None.

    The steps are the search, the sweep, and with ``keep_rest`` more ``*`` and one last group.
    """
    width = len(rows[0][0])
    group_of: list[Any] = assign(rows, anonymize(rows, k, indifferent, order)[0], k, accept)
    fewest = min(indifferent, width - 1)
    for number in range(fewest, width if keep_rest else fewest + 1):
        for turn in range(len(rows) + 1):
            rest = [i for i in range(len(rows)) if group_of[i] is None]
            classless = [(rows[i][0], 0, rows[i][2]) for i in rest]
            inner = None if accept is None else lambda members, rest=rest: accept([rest[i] for i in members])
            swept = {(pattern, 0): 0 for pattern in sweep(classless, k, number)}
            for i, group in zip(rest, assign(classless, swept, k, inner), strict=True):
                group_of[i] = group and (number, turn, group)
            if all(group_of[i] is None for i in rest):
                break
    if keep_rest and None in group_of:
        group_of = merge_rest(rows, group_of, k, accept)
    published = {
        group: anti_unification([rows[i][0] for i in range(len(rows)) if group_of[i] == group])
        for group in set(group_of) - {None}
    }
    return [published.get(group) for group in group_of]


def merge_rest(rows, group_of, k, accept) -> list[Any]:
    """Form one group of the rows without a group.

    The cheapest groups join it until it has k records and is accepted. The kernel numbers groups by stage and inside a
    stage by pattern; ties go to the lower number. The same order is used here: groups of the search (patterns) come
    first, then (``*``, turn, pattern).
    """
    numbered = sorted(
        set(group_of) - {None},
        key=lambda group: (1, *group) if isinstance(group[-1], tuple) else (0, 0, 0, group),
    )
    merged = ["rest" if group is None else group for group in group_of]
    while True:
        rest = [i for i, group in enumerate(merged) if group == "rest"]
        if size(rows, rest) >= k and (accept is None or accept(rest)):
            return merged
        costs = []
        for number, group in enumerate(numbered):
            inside = [i for i, other in enumerate(merged) if other == group]
            if inside:
                merged_stars = stars(anti_unification([rows[i][0] for i in inside + rest]))
                cost = sum(
                    size(rows, part) * (merged_stars - stars(anti_unification([rows[i][0] for i in part])))
                    for part in (inside, rest)
                )
                costs.append((cost, number))
        if not costs:
            return group_of
        cheapest = numbered[min(costs)[1]]
        merged = ["rest" if group == cheapest else group for group in merged]


def rare_columns(rows: Sequence[Row], discarded: Sequence[int], k: int, max_columns: int) -> dict[tuple[int, ...], int]:
    """Count discarded records per minimal set of columns that makes them rare.

    A set makes a record rare if fewer than k records share its values.
    """
    records: dict[tuple[int, ...], int] = defaultdict(int)
    for i in discarded:
        smallest: list[tuple[int, ...]] = []
        for number in range(1, max_columns + 1):
            for columns in combinations(range(len(rows[i][0])), number):
                matching = sum(row[2] for row in rows if all(row[0][a] == rows[i][0][a] for a in columns))
                if matching < k and not any(set(known) <= set(columns) for known in smallest):
                    smallest.append(columns)
        for columns in smallest:
            records[columns] += rows[i][2]
    return dict(records)


def cells(rows: Sequence[Row], patterns) -> list[int]:
    """Group records by the patterns of their class that they fit.

    Return the sorted sizes; records that fit none are left out.
    """
    sizes: dict[tuple[Any, ...], int] = defaultdict(int)
    for values, row_class, records in rows:
        fitting = tuple(known for known in patterns if known[1] == row_class and fits(values, known[0]))
        if fitting:
            sizes[fitting] += records
    return sorted(sizes.values())
