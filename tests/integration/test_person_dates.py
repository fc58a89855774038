"""Dates shifted per person, or counted from a person's first date."""

from __future__ import annotations

import datetime
import hashlib
import hmac

import pyarrow as pa
import pytest

import shoal
from shoal.errors import PlanError
from shoal.report import render
from shoal.schema import Calendar, Column, Role, Schema, Shift
from shoal.table.date_shift import days_moved
from tests.builders.errors import has_code

KEY = b"0123456789abcdef0123456789abcdef"
DAY = datetime.date
VISITS = [
    ("Ann", DAY(2024, 2, 28)),
    ("ann ", DAY(2024, 3, 1)),
    ("Bob", DAY(2023, 12, 31)),
    ("Bob", None),
    (None, DAY(2024, 1, 1)),
]


@pytest.fixture
def key(tmp_path, monkeypatch):
    file = tmp_path / "key"
    file.write_bytes(KEY)
    file.chmod(0o600)
    monkeypatch.setenv("SHOAL_PSEUDONYM_KEY", str(file))


def released(values, kind, *, names=None, **column):
    """Release a table with one other column of these values.

    The values are of the people named, or of those of VISITS.
    """
    people = pa.array(names or [people for people, _ in VISITS], pa.string())
    table = pa.table({"who": people, "day": pa.array(values, kind), "q": [1] * len(people)})
    roles = {"who": Column(Role.PERSON), "q": Column(Role.QUASI_IDENTIFIER), "day": Column(Role.OTHER, **column)}
    return shoal.anonymize(table, shoal.Plan(Schema(roles), (shoal.models.KAnonymity(2),)))


def expected(name, day, days):
    message = f"shift:{days}:{len(name)}:{name}".encode()
    number = int.from_bytes(hmac.new(KEY, message, hashlib.sha256).digest())
    return day + datetime.timedelta(number % (2 * days + 1) - days)


@pytest.mark.parametrize("written", ["date", "text", "format", "time"])
def test_dates_of_a_person_move_by_one_offset(key, written):
    """Compare offsets with their definition, in every form of dates.

    Dates without a person have no offset and become missing.
    """
    days = [day for _, day in VISITS]
    forms = {"date": None, "text": "%Y-%m-%d", "format": "%d.%m.%Y", "time": "%Y-%m-%dT11:30:00"}
    form = forms[written]
    values = [day if day is None or form is None else day.strftime(form) for day in days]
    column = {"role": Role.QUASI_IDENTIFIER, "hierarchy": Calendar(format=form)} if written == "format" else {}
    names = ["ann", "ann", "bob", "bob", None]
    if column:  # only the hierarchy of a quasi-identifier has a format
        roles = {"who": Column(Role.PERSON), "day": Column(shift=Shift(90), **column)}
        table = pa.table({"who": names * 2, "day": values * 2})
        found = shoal.anonymize(
            table, shoal.Plan(Schema(roles), (shoal.models.KAnonymity(2),), shoal.methods.Levels({"day": 5}))
        )
        assert set(found.table["day"].to_pylist()) == {"*"}
        return
    found = released(values, pa.date32() if form is None else pa.string(), names=names, shift=Shift(90))
    moved = [
        None if person is None or day is None else expected(person, day, 90)
        for person, day in zip(names, days, strict=True)
    ]
    published = [day if day is None or form is None else day.strftime(form) for day in moved]
    assert sorted(map(str, found.table["day"].to_pylist())) == sorted(map(str, published))
    assert moved[1] - moved[0] == days[1] - days[0]
    assert found.figures["moved_dates"] == ["day"]
    assert found.figures["plan"]["columns"]["day"]["shift"] == {"days": 90, "per": "person"}
    assert "at most 90, that only the holder of a secret key can tell" in render(found)


def test_moved_dates_are_generalized_and_verified(key):
    names = [f"p{n}" for n in range(30)]
    table = pa.table({"who": names, "day": [DAY(2024, 6, 15)] * 30})
    roles = {"who": Column(Role.PERSON), "day": Column(Role.QUASI_IDENTIFIER, Calendar(("year",)), shift=Shift(365))}
    found = shoal.anonymize(
        table, shoal.Plan(Schema(roles), (shoal.models.KAnonymity(2),), shoal.methods.Levels({"day": 1}, 0.5))
    )
    years = [str(expected(name, DAY(2024, 6, 15), 365).year) for name in names]
    assert sorted(found.table["day"].to_pylist()) == sorted(year for year in years if years.count(year) > 1)


def test_spellings_of_a_person_share_an_offset(key):
    found = released([day for _, day in VISITS], pa.date32(), shift=Shift(10))
    published = found.table["day"].to_pylist()
    assert expected("ann", DAY(2024, 2, 28), 10) in published
    assert expected("ann", DAY(2024, 3, 1), 10) in published
    assert published.count(None) == 2


def test_days_since_first_date_need_no_key():
    found = released([day for _, day in VISITS], pa.date32(), relative_to="first")
    assert sorted(found.table["day"].to_pylist(), key=str) == [0, 0, 0, 2, None]
    assert "days since the person" in render(found)
    times = ["2024-01-01T23:00:00+00:00", "2024-01-02T01:00:00+02:00", "2024-01-05 00:00:00", None, "2020-01-01"]
    found = released(times, pa.string(), names=["a", "a", "a", "a", "b"], relative_to="first")
    assert sorted(found.table["day"].to_pylist(), key=str) == [0, 0, 0, 4, None]


def test_offsets_depend_on_key_and_days():
    offsets = [days_moved(KEY, (str(n),), 3) for n in range(2000)]
    assert set(offsets) == set(range(-3, 4))
    assert offsets != [days_moved(b"x" * 32, (str(n),), 3) for n in range(2000)]
    assert days_moved(KEY, ("ab", "c"), 10**4) != days_moved(KEY, ("a", "bc"), 10**4)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"role": "sensitive", "shift": {"days": 5}}, "Only dates of a quasi-identifier"),
        ({"role": "other", "shift": {"days": 5}, "relative_to": "first"}, "not both"),
        ({"role": "other", "shift": {"days": 0}}, "days"),
        ({"role": "other", "shift": {"weeks": 5}}, "needs the key columns.day.shift.days"),
        ({"role": "other", "shift": {"days": 5, "per": "row"}}, "person"),
        ({"role": "other", "relative_to": "last"}, "first"),
    ],
    ids=["sensitive", "both", "no days", "weeks", "per row", "last"],
)
def test_wrong_shifts_are_refused_in_plans(column, message):
    document = {
        "columns": {"who": "person", "q": "quasi-identifier", "day": column},
        "models": ["k-anonymity k=2"],
    }
    with pytest.raises(PlanError, match=message):
        shoal.Plan.from_dict(document)


def test_values_other_than_dates_are_refused_undisclosed(key):
    """The error counts the values and does not name them."""
    values = ["2024-01-01", "Zebulon", "31.12.2020", None, "2024-01-02"]
    for how in ({"shift": Shift(5)}, {"relative_to": "first"}):
        with pytest.raises(PlanError, match="2 different date") as refused:
            released(values, pa.string(), names=["a", "b", "c", "d", "e"], **how)
        assert "Zebulon" not in str(refused.value)
    late = next(name for name in ("a", "b", "c", "d", "e", "f") if days_moved(KEY, (name,), 36500) > 0)
    with pytest.raises(PlanError, match="1 different date"):
        released(["9999-12-31"] * 5, pa.string(), names=[late] * 4 + [None], shift=Shift(36500))


@pytest.mark.parametrize("column", [{"shift": Shift(36_500)}, {"relative_to": "first"}])
@pytest.mark.parametrize(
    ("value", "kind"),
    [(2**62, pa.timestamp("us")), (-(2**62), pa.timestamp("us", "UTC")), (2**40, pa.timestamp("s"))],
)
def test_instants_beyond_the_calendar_are_refused(key, column, value, kind):
    """Refuse the plan; there is no internal error."""
    values = pa.array([value, 0, 0, None, 0], pa.int64()).cast(kind)
    with pytest.raises(PlanError, check=has_code("columns.shift-needs-dates", found=1)):
        released(values, kind, **column)


def test_instants_before_the_calendar_are_refused(key):
    """Refuse the plan; there is no internal error."""
    early = ["0001-01-01T00:00:00+14:00", "2020-01-01T00:00:00+00:00", None, None, None]
    for column in ({"shift": Shift(1)}, {"relative_to": "first"}):
        with pytest.raises(PlanError, check=has_code("columns.shift-needs-dates", found=1)):
            released(early, pa.string(), **column)


def test_days_of_early_years_keep_their_form(key):
    moved = released(["0900-01-01"] * 5, pa.string(), names=["ann"] * 2 + ["bob"] * 3, shift=Shift(1)).table["day"]
    assert {len(day) for day in moved.to_pylist()} == {10}


def test_moved_dates_need_a_person_and_a_key(monkeypatch):
    """The plan is equal to the plan of its document, too."""
    monkeypatch.delenv("SHOAL_PSEUDONYM_KEY", raising=False)
    moved = Column(Role.QUASI_IDENTIFIER, shift=Shift(5))
    with pytest.raises(PlanError, check=has_code("columns.shift-needs-person")):
        shoal.Plan(Schema({"day": moved}), (shoal.models.KAnonymity(2),))
    plan = shoal.Plan(Schema({"who": Column(Role.PERSON), "day": moved}), (shoal.models.KAnonymity(2),))
    assert shoal.Plan.from_dict(plan.to_dict()) == plan
    with pytest.raises(PlanError, match="need a key"):
        shoal.anonymize(pa.table({"who": ["a", "b"], "day": [DAY(2024, 1, 1)] * 2}), plan)
