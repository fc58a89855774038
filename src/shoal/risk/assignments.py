"""Possible rows of people, if the intruder has a list of everybody.

Everybody in the list has one row of the table. An assignment gives every person a row that fits, and every row to one
person. A row that fits a person is possible only if it is the person's in some assignment: other people may need it.
People of one kind, and rows of one group, can be exchanged, so that kinds and groups are assigned with their numbers.

One assignment is found by augmenting paths in layers (Dinic). In the graph with an edge from every kind to the groups
that fit it, and back along the edges that the assignment uses, an edge is part of some assignment if the assignment
uses it, or if it lies within a strongly connected component: following a cycle exchanges rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


def find_possible(people: Ints, rows: Ints, start: Ints, group: Ints) -> npt.NDArray[np.bool_] | None:
    """Return which fitting groups are possible for each kind of person.

    ``people`` are the numbers of people of each kind, ``rows`` those of rows of each group, and the entries
    ``start[i]:start[i + 1]`` of ``group`` the groups that fit kind i. None if there is no assignment of everybody. Time
    in Python: a few passes over the entries, usually.

    >>> people, rows = np.asarray([1, 3, 2]), np.asarray([1, 3, 2])  # (2,A) (2,B) (3,A); (*,A) (2,*) (3,A)
    >>> find_possible(people, rows, np.asarray([0, 2, 3, 5]), np.asarray([0, 1, 1, 0, 2])).tolist()
    [True, False, True, False, True]
    """
    if people.sum() != rows.sum():
        return None
    flow = _Assignment(people.tolist(), rows.tolist(), start.tolist(), group.tolist())
    if not flow.complete():
        return None
    component = flow.components()
    owner = np.repeat(np.arange(len(people)), np.diff(start))
    used = np.asarray(flow.flow) > 0
    return np.asarray(used | (component[owner] == component[len(people) + group]))


class _Assignment:
    """Numbers of people of each kind that get a row of each group."""

    def __init__(self, people: Sequence[int], rows: Sequence[int], start: Sequence[int], group: Sequence[int]) -> None:
        self.kinds, self.groups = len(people), len(rows)
        self.start, self.group = start, group
        self.flow = [0] * len(group)
        self.owner = [kind for kind in range(self.kinds) for _ in range(start[kind], start[kind + 1])]
        self.entries: list[list[int]] = [[] for _ in rows]
        for entry, one in enumerate(group):
            self.entries[one].append(entry)
        self.left, self.free = list(people), list(rows)
        # kinds with few groups first, each in the groups that fit few kinds
        for kind in sorted(range(self.kinds), key=lambda kind: start[kind + 1] - start[kind]):
            for entry in sorted(range(start[kind], start[kind + 1]), key=lambda entry: len(self.entries[group[entry]])):
                amount = min(self.left[kind], self.free[group[entry]])
                self.flow[entry] += amount
                self.left[kind] -= amount
                self.free[group[entry]] -= amount

    def complete(self) -> bool:
        """Assign everybody; return whether that is possible."""
        while any(self.left):
            layer = self._layers()
            if layer is None:
                return False
            self._augment(layer)
        return True

    def _layers(self) -> list[int] | None:
        """Return the layer of each node, kinds before groups; -1 is not reached.

        Layers begin with the kinds that have people left. None if no group with a free row is reached.
        """
        layer = [-1] * (self.kinds + self.groups)
        reached = [kind for kind in range(self.kinds) if self.left[kind]]
        for kind in reached:
            layer[kind] = 0
        depth, found = 0, False
        while reached and not found:
            groups = []
            for kind in reached:
                for entry in range(self.start[kind], self.start[kind + 1]):
                    node = self.kinds + self.group[entry]
                    if layer[node] < 0:
                        layer[node] = depth + 1
                        groups.append(self.group[entry])
            found = any(self.free[group] for group in groups)
            reached = []
            for group in groups:
                for entry in self.entries[group]:
                    if self.flow[entry] and layer[self.owner[entry]] < 0:
                        layer[self.owner[entry]] = depth + 2
                        reached.append(self.owner[entry])
            depth += 2
        return layer if found else None

    def _augment(self, layer: list[int]) -> None:
        """Assign people along paths that go from layer to layer."""
        next_entry = list(self.start[:-1])
        next_back = [0] * self.groups
        for kind in range(self.kinds):
            while self.left[kind] and layer[kind] == 0:
                path = self._path(kind, layer, next_entry, next_back)
                if not path:
                    break
                amount = min(self.left[kind], self.free[self.group[path[-1]]])
                amount = min([amount, *(self.flow[entry] for entry in path[1::2])])
                for position, entry in enumerate(path):
                    self.flow[entry] += -amount if position % 2 else amount
                self.left[kind] -= amount
                self.free[self.group[path[-1]]] -= amount

    def _path(self, kind: int, layer: list[int], next_entry: list[int], next_back: list[int]) -> list[int]:
        """Return the entries of a path to a free row: to a group, back, ..."""
        path: list[int] = []
        at = kind
        while True:
            if at < self.kinds:
                end = self.start[at + 1]
                while next_entry[at] < end and layer[self.kinds + self.group[next_entry[at]]] != layer[at] + 1:
                    next_entry[at] += 1
                if next_entry[at] < end:
                    path.append(next_entry[at])
                    at = self.kinds + self.group[next_entry[at]]
                    if self.free[at - self.kinds]:
                        return path
                    continue
                if not path:
                    return []
                at = self.kinds + self.group[path.pop()]
                next_back[at - self.kinds] += 1
                continue
            group = at - self.kinds
            entries = self.entries[group]
            while next_back[group] < len(entries):
                entry = entries[next_back[group]]
                if self.flow[entry] and layer[self.owner[entry]] == layer[at] + 1:
                    break
                next_back[group] += 1
            if next_back[group] < len(entries):
                path.append(entries[next_back[group]])
                at = self.owner[entries[next_back[group]]]
                continue
            at = self.owner[path.pop()]
            next_entry[at] += 1

    def components(self) -> Ints:
        """Number the strongly connected components of kinds and groups."""
        nodes = self.kinds + self.groups
        number, low, component = [-1] * nodes, [0] * nodes, [-1] * nodes
        stack: list[int] = []
        seen = found = 0
        for root in range(nodes):
            if number[root] >= 0:
                continue
            number[root] = low[root] = seen
            seen += 1
            stack.append(root)
            work = [(root, iter(self._next(root)))]
            while work:
                node, others = work[-1]
                for other in others:
                    if number[other] < 0:
                        number[other] = low[other] = seen
                        seen += 1
                        stack.append(other)
                        work.append((other, iter(self._next(other))))
                        break
                    if component[other] < 0:
                        low[node] = min(low[node], number[other])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[node])
                    if low[node] == number[node]:
                        while component[node] < 0:
                            component[stack.pop()] = found
                        found += 1
        return np.asarray(component, np.int64)

    def _next(self, node: int) -> list[int]:
        if node < self.kinds:
            return [self.kinds + group for group in self.group[self.start[node] : self.start[node + 1]]]
        return [self.owner[entry] for entry in self.entries[node - self.kinds] if self.flow[entry]]
