"""From a table to a release that is decided and applied, with nothing written: the steps in the middle.

    read -> encode -> decide -> apply, and of what was decided: verify, describe

Where all combinations fit one machine, :class:`DecidedHere` has them and what became of them. Where a method works on
blocks and the rows are spread over machines, :class:`DecidedSpread` is decided, recoded and verified where they are.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.bounds import Bound
from shoal.errors import PlanError, VerificationError
from shoal.io.engines.base import Engine, Relation, Source, Spread, memory_bytes, require_columns, require_roles
from shoal.methods import Method, Problem
from shoal.methods.compile_notice import tell_of_compiling, told_of_compiling
from shoal.models import limited
from shoal.plan.plan import Plan
from shoal.plan.saved_recoding import LOCAL, saved_recoding
from shoal.results.report_facts import Description, describe, describe_columns
from shoal.results.usefulness import hidden_columns, nothing_learned
from shoal.runtime.lean_imports import load_arrow
from shoal.runtime.progress import Progress
from shoal.runtime.threads import at_most
from shoal.schema import Role, Schema
from shoal.schema.detect_identifiers import shared_by_many, staff_key
from shoal.table import (
    ByCell,
    ByLevel,
    ByPattern,
    Dictionary,
    FrequencySet,
    MethodFacts,
    Recoding,
    apply,
    kept_combinations,
    read_frequency_set,
    released_ladders,
)
from shoal.table.canonical import canonical_text, canonical_text_spread, one_zero
from shoal.table.categories import publish_categories
from shoal.table.date_shift import move_dates
from shoal.table.people import number_people
from shoal.table.pseudonyms import name_people, read_key, replace_identifiers
from shoal.utility.loss import losses
from shoal.verification.check import CheckResult, Crowds
from shoal.verification.verify import people_of_source, require_same_rows, verify, verify_patterns, verify_spread

__all__ = ["Counted", "Decided", "DecidedHere", "DecidedSpread", "Watch", "decide", "encode"]

MOST_VARYING = 0.05
"""A column in which no more of the people of several rows have different values is taken for the same in all rows."""
LEAST_TOLD_APART = 0.1
"""So many of the people of several rows, as a part, must be told apart by such columns for it to be told."""
MOST_ROWS_OF_ONE = 1000
"""An identifier that has more rows than these for each of its values is taken for no person's."""

LINKED = (
    "The models count people, by numbers of which pseudonyms are published. What people have is taken from all of "
    "their rows in the original, also from those that were left out."
)
NOT_LINKED = (
    "The models count people, by numbers that are not published. Who has the release alone can verify rows only."
)
"""Who can verify what, where people are counted."""


@dataclass
class Watch:
    """Tells progress, and how long each step took."""

    progress: Progress
    seconds: dict[str, float] = field(default_factory=dict)
    step: str = ""

    def part(self, done: float) -> None:
        """Tell how far the step at work is."""
        self.progress(self.step, done)

    @contextmanager
    def __call__(self, step: str) -> Iterator[None]:
        """Tell that a step is at work."""
        self.step = step
        self.progress(step, None)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start


# -- what was decided ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A release that is decided and applied.

    Attributes
    ----------
    origin
        The table as it was read, before its values were put into the form in which they are counted.
    carried
        What is released, with the people's numbers where models count people.
    nobodys
        Rows that are nobody's, where the plan says whose rows they are.
    pseudonyms
        Those of people (v, label), where these are published.
    linking
        Published columns that are the same in all rows of a person and differ between people, with figures.
    repeating
        Identifiers that may be those of people with several rows, where the plan does not say whose rows they are.
    bound
        What any release of its kind must lose, where that is known and may be told.
    """

    plan: Plan
    origin: Relation
    source: Relation
    released: Relation
    carried: Relation
    rows: int
    kept: int
    loss: Mapping[str, float]
    facts: MethodFacts
    nobodys: int = 0
    pseudonyms: Any = None
    linking: Mapping[str, Any] = field(default_factory=dict)
    repeating: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    bound: Bound | None = None

    def verify(self, engine: Engine, written: Relation) -> CheckResult:
        """Check what was written, before it leaves."""
        raise NotImplementedError

    def require_same(self, engine: Engine, written: Relation, carried: Relation) -> None:
        """Raise unless what was written is what is verified, but for people's numbers, or pseudonyms in their place."""
        shown: dict[str, Mapping[str, str]] = {}
        if self.plan.schema.linked:
            made = self.pseudonyms.to_pydict()
            if len(set(made["label"])) < len(made["label"]):
                raise VerificationError("Two people have one pseudonym. A fault in shoal; nothing was published.")
            shown[self.plan.schema.person[0]] = dict(zip(map(str, made["v"]), made["label"], strict=True))
        require_same_rows(engine, written, carried, shown)

    def describe(self, checked: CheckResult) -> Description:
        """The facts behind the report."""
        return describe_columns(self.plan.schema.published, self.plan.model, checked)

    def told(self, checked: CheckResult) -> dict[str, Any]:
        """What only who has seen all combinations can tell in the certificate."""
        return {}

    def recoding_text(self, release: Mapping[str, Any]) -> str:
        """The recoding, to be kept for the next delivery; raises where it is a local one."""
        raise PlanError(LOCAL)


@dataclass(frozen=True, kw_only=True)
class DecidedHere(Decided):
    """Decided on one machine: by the combinations of the source, and which of them go where."""

    problem: Problem
    recoding: Recoding

    def verify(self, engine: Engine, written: Relation) -> CheckResult:
        """See :class:`Decided`."""
        problem, schema, model = self.problem, self.plan.schema.published, self.plan.model
        if isinstance(self.recoding, ByPattern):
            return verify_patterns(engine, written, problem.frequencies, problem.ladders, self.recoding, model)
        people = people_of_source(engine, self.source, schema, model) if schema.person else None
        told = self._labels_of_codes() if limited(model) else ()
        wildcard = self.plan.method.wildcard
        return verify(engine, written, schema, model, self.kept, wildcard, problem.frequencies, people, told)

    def _labels_of_codes(self) -> list[list[str | None]]:
        """How a release shows each code of its source where it hides no cell; nothing where that is not one label."""
        recoding = self.recoding
        if not isinstance(recoding, ByLevel | ByCell):
            return []
        ladders = recoding.ladders if isinstance(recoding, ByCell) else self.problem.ladders
        return [
            [ladder.labels[level][code] for code in ladder.codes[level]]
            for ladder, level in zip(ladders, recoding.levels, strict=True)
        ]

    def describe(self, checked: CheckResult) -> Description:
        """See :class:`Decided`."""
        return describe(self.problem, self.recoding, checked, reveals_source=self.plan.method.reveals_source)

    def told(self, checked: CheckResult) -> dict[str, Any]:
        """See :class:`Decided`; people, and what the release says nothing about where that may be told."""
        problem = self.problem
        found: dict[str, Any] = {} if checked.people is None else {"people": self._people(checked, checked.people)}
        if not self.plan.method.reveals_source:
            return found
        sensitive = self.plan.schema.published.sensitive
        empty = {
            "hidden_columns": hidden_columns(problem.frequencies, problem.ladders, self.recoding),
            "nothing_learned": nothing_learned(problem.frequencies, self.recoding, sensitive),
        }
        return found | {key: names for key, names in empty.items() if names}

    def _people(self, checked: CheckResult, counted: Crowds) -> dict[str, Any]:
        everybody, schema = self.problem.frequencies.domains[-1].people, self.plan.schema
        assert everybody is not None
        linked = [part.linked_rows for part in self.plan.model_of_rows.parts if part.only_people]
        return {
            "total": everybody.count,
            "released": counted.total,
            "rows": checked.rows,
            "smallest_group": counted.smallest_group,
            "rows_without_person": self.nobodys,
            "unit": "people" if schema.person == schema.named(Role.PERSON) else "households",
            "verification": LINKED if schema.linked else NOT_LINKED,
            **({"known_rows": "all" if linked[0] is None else linked[0]} if linked else {}),
            **({} if counted.smallest_crowd is None else {"smallest_crowd": counted.smallest_crowd}),
        }

    def recoding_text(self, release: Mapping[str, Any]) -> str:
        """See :class:`Decided`."""
        return saved_recoding(self.problem, self.recoding, release)


@dataclass(frozen=True, kw_only=True)
class DecidedSpread(Decided):
    """Decided where the rows are: no one machine held all of them."""

    def verify(self, engine: Engine, written: Relation) -> CheckResult:
        """See :class:`Decided`."""
        schema = self.plan.schema.published
        counted = engine.spread(written, _looked_at(written, schema))
        assert counted is not None
        return verify_spread(counted, written, schema, self.plan.model, self.kept)


# -- the steps -----------------------------------------------------------------------------------------------------


_Coded = tuple[tuple[Dictionary, ...], FrequencySet]
"""The values of a table's quasi-identifiers as they are in it, and its combinations in canonical form."""


class Counted:
    """The combinations of the table that was read last, for rehearsals that differ in models and methods alone.

    Attributes
    ----------
    spared
        The seconds that it took to count them, where they were not counted again.
    """

    def __init__(self) -> None:
        self.spared = 0.0
        self._took = 0.0
        self._key: object = None
        self._found: Any = None

    def of(self, source: Source, plan: Plan, count: Callable[[], _Coded]) -> _Coded:
        """What was counted for the same file and columns, or is now; people are numbered anew each time."""
        key = (source, plan.schema, plan.engine)
        same = source.path is not None and not plan.schema.person and self._key == key
        if not same:
            start = time.perf_counter()
            self._found, self._key = count(), key
            self._took = time.perf_counter() - start
        self.spared = self._took if same else 0.0
        found: _Coded = self._found
        return found


def decide(
    engine: Engine, source: Source, plan: Plan, watch: Watch, *, bounded: bool = True, counted: Counted | None = None
) -> Decided:
    """Read a table, let the plan's method decide, and let the engine apply it; told what it must lose, or not."""
    plan.method.ready()
    with _warming(plan.method, watch.progress):
        read = _read(engine, source, plan, watch)
        table = read.table
        repeating = _repeating(engine, table, plan)
        if (spread := _spread(engine, table, plan, watch)) is not None:
            return replace(_decide_spread(*spread, plan, watch), repeating=repeating)
        same, problem = _code(engine, source, table, plan, watch, counted or Counted())
    found = _decide_here(engine, same, problem, plan, watch, read.pseudonyms)
    if bounded and plan.method.reveals_source:
        with watch("bounding"), told_of_compiling(plan.method, watch.progress):
            found = replace(found, bound=plan.method.lower_bound(problem, found.recoding))
    return replace(found, origin=table, nobodys=read.nobodys, repeating=repeating)


def encode(engine: Engine, source: Source, plan: Plan, watch: Watch) -> Problem:
    """Read a table: what is to be decided."""
    with at_most(plan.engine.threads), _warming(plan.method, watch.progress):
        return _code(engine, source, _read(engine, source, plan, watch).table, plan, watch, Counted())[1]


@dataclass(frozen=True)
class _Read:
    """The table as it is to be anonymized: with categories, pseudonyms and numbers in place of what they stand for.

    And how many rows are nobody's, where the plan says whose rows they are, and the pseudonyms of people.
    """

    table: Relation
    nobodys: int = 0
    pseudonyms: Any = None


def _read(engine: Engine, source: Source, plan: Plan, watch: Watch) -> _Read:
    key = b""
    if plan.schema.keyed:
        if not plan.method.reveals_source:
            raise PlanError(f"The promise of the method {plan.method.name} leaves no room for pseudonyms; drop them.")
        output = plan.output
        key = read_key(output.pseudonym_key, output.path) if output else read_key(None)
    with watch("reading"):
        read = engine.read(replace(source, with_nan=plan.schema.named(Role.OTHER)))
        require_columns(read, tuple(plan.schema.columns))
        require_roles(read, plan.schema.columns)
        table = one_zero(engine, read, plan.schema)
        table = publish_categories(engine, table, plan.schema)
        _refuse_links(engine, table, plan)
        table = replace_identifiers(engine, table, plan.schema.pseudonyms, key)
        if not plan.schema.person:
            return _Read(replace(table, labels=read.labels))
        found = number_people(engine, table, plan.schema.person)
        made = name_people(found.names, plan.schema.person[0], key) if plan.schema.linked else None
        table = move_dates(engine, found, plan.schema, key)
        return _Read(replace(table, labels=read.labels), found.nobodys, made)


def _refuse_links(engine: Engine, table: Relation, plan: Plan) -> None:
    """Raise where an identifier that becomes a pseudonym repeats: it would link rows, as a person's does."""
    names = plan.schema.pseudonyms
    for name, (rows, values) in zip(names, engine.repeats(table, table.places(names)) if names else (), strict=True):
        if values < rows:
            raise PlanError(
                f"A pseudonym of an identifier must not link rows; column {name!r} has {values:,} different values in "
                f"{rows:,} rows. If it says whose rows they are, give it the role person, with pseudonym = true and "
                "the model trajectory-anonymity; else leave the pseudonym out."
            )


@contextmanager
def _warming(method: Method, progress: Progress) -> Iterator[None]:
    """Load what a method needs while the table is being read."""

    def warm() -> None:
        load_arrow()  # and pandas, where that is installed and others are here
        method.warm()

    warming = threading.Thread(target=warm, daemon=True)
    warming.start()
    yield
    if warming.is_alive():
        tell_of_compiling(method, progress)
    warming.join()


def _repeating(engine: Engine, table: Relation, plan: Plan) -> dict[str, dict[str, int]]:
    """Identifiers whose values repeat, with how many rows and how many values: people may have several rows.

    Names and addresses repeat by chance, and keys of staff in what they do for others: they tell that only where no
    other identifier tells all rows apart.
    """
    names = plan.schema.named(Role.IDENTIFIER)
    if plan.schema.person or not names or not plan.method.reveals_source:
        return {}
    found = list(zip(names, engine.repeats(table, table.places(names)), strict=True))
    most = max(rows for _, (rows, _) in found)
    keyed = any(values == rows == most for _, (rows, values) in found)
    return {
        name: {"rows": rows, "values": values}
        for name, (rows, values) in found
        if values < rows <= MOST_ROWS_OF_ONE * values and values > 1
        if not (keyed and (shared_by_many(name) or staff_key(name)))
    }


def _linking(engine: Engine, carried: Relation, plan: Plan) -> dict[str, Any]:
    """Published columns that tell which rows are one person's, as a pseudonym would, where the models do not mind."""
    person = plan.schema.person[:1]
    minded = any(part.only_people for part in plan.model_of_rows.parts)
    if minded or not person or person[0] not in carried.columns:
        return {}
    (owner,) = carried.places(person)
    places = [place for place in range(len(carried.columns)) if place != owner]
    several, varying = engine.linking(carried, owner, places)
    same = [place for place, vary in zip(places, varying, strict=True) if vary <= MOST_VARYING * several]
    if not several or not same:
        return {}
    apart = engine.told_apart(carried, owner, same)
    if apart < LEAST_TOLD_APART * several:
        return {}
    return {"columns": [carried.columns[place] for place in same], "people": several, "told_apart": apart}


def _looked_at(table: Relation, schema: Schema) -> tuple[int, ...]:
    return table.places((*schema.quasi_identifiers, *schema.sensitive))


def _published_columns(table: Relation, plan: Plan) -> tuple[str, ...]:
    return tuple(name for name in table.columns if name not in plan.schema.unpublished)


# -- on one machine


def _code(
    engine: Engine, source: Source, table: Relation, plan: Plan, watch: Watch, counted: Counted
) -> tuple[Relation, Problem]:
    """The table in the form in which it is counted and published, and what is to be decided."""
    schema = plan.schema.published
    same: Relation | None = None

    def count() -> _Coded:
        nonlocal same
        raw = read_frequency_set(engine, table, schema)
        same = canonical_text(engine, table, raw.quasi)
        return raw.quasi, raw if same is table else read_frequency_set(engine, same, schema)

    with watch("reading"):
        quasi, frequencies = counted.of(source, plan, count)
        if same is None:
            same = canonical_text(engine, table, quasi)
        plan.model.check(frequencies.domains)
        ladders = frequencies.ladders(schema, engine, table)  # the rows as the user has numbered them
    return same, Problem(frequencies, ladders, plan.model, plan.seed, watch.progress, schema)


def _decide_here(
    engine: Engine, table: Relation, problem: Problem, plan: Plan, watch: Watch, pseudonyms: Any
) -> DecidedHere:
    frequencies, ladders = problem.frequencies, problem.ladders
    with watch("deciding"):
        _require_room(plan, problem)
        with told_of_compiling(plan.method, watch.progress):
            recoding = plan.method.decide(problem)
        loss = losses(frequencies, ladders, recoding) if plan.method.reveals_source else {}
        ladders = released_ladders(frequencies, ladders, kept_combinations(recoding))
        problem = replace(problem, ladders=ladders)
    with watch("applying"):
        keep, person = _published_columns(table, plan), plan.schema.person[:1]
        beside = () if plan.schema.linked else person
        carried = released = apply(engine, table, keep, frequencies, ladders, recoding, beside)
        if person and not carried.ordered:  # written, asked who has which rows, and verified: it is made once for all
            carried = engine.keep(carried)
        if plan.schema.linked:
            released = engine.relabel(carried, keep.index(person[0]), pseudonyms)
        elif person:
            released = engine.project(carried, range(len(keep)))
        linking = _linking(engine, carried, plan)
    if isinstance(recoding, ByLevel):
        kept = int(frequencies.count[recoding.group >= 0].sum())
    else:
        kept = int(recoding.count.sum())
    return DecidedHere(
        plan=plan, origin=table, source=table, released=released, carried=carried, rows=frequencies.rows, kept=kept,
        loss=loss, facts=recoding.facts, problem=problem, recoding=recoding, pseudonyms=pseudonyms, linking=linking,
    )  # fmt: skip


def _require_room(plan: Plan, problem: Problem) -> None:
    """Raise where what the method must hold beside the engine is known to be more than the plan's memory."""
    if plan.engine.memory is None:
        return
    needed, given = plan.method.room(problem), memory_bytes(plan.engine.memory)
    if needed > given:
        raise PlanError(
            f"The method {plan.method.name} must hold at least {needed / 1e6:,.0f} MB of this table at once, and the "
            f"plan gives {given / 1e6:,.0f} MB ([engine] memory). Raise it, or generalize columns before."
        )


# -- where the rows are


def _spread(engine: Engine, table: Relation, plan: Plan, watch: Watch) -> tuple[Relation, Spread] | None:
    """The table and its combinations, left where they are; None where they are to come to this machine."""
    schema, most = plan.schema.published, plan.method.together
    if most is None or plan.schema.person:  # people are counted where all of their rows are
        return None
    with watch("reading"):
        places = _looked_at(table, schema)
        counted = engine.spread(table, places)
        if counted is None or counted.rows <= most:
            return None
        same = canonical_text_spread(engine, table, counted, schema)
        if same is not table:
            counted = engine.spread(same, places)
            assert counted is not None
        return same, counted


def _decide_spread(table: Relation, counted: Spread, plan: Plan, watch: Watch) -> DecidedSpread:
    schema = plan.schema.published
    with watch("deciding"):
        done = plan.method.decide_spread(counted, table, schema, plan.model, plan.seed, watch.progress)
    with watch("applying"):
        released = counted.recode(table.places(_published_columns(table, plan)), done.entries, done.recoded)
    return DecidedSpread(
        plan=plan, origin=table, source=table, released=released, carried=released, rows=counted.rows, kept=done.rows,
        loss=done.loss, facts=done.facts,
    )  # fmt: skip
