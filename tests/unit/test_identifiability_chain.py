"""Tampering with the hash chain of a ledger.

Covers an edit of any field; a lost, moved or forged entry; a state set back; an old copy.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from shoal.budget import errors, hash_chain
from shoal.budget.arithmetic import rho_from_bound, round_up
from shoal.budget.ledger import Ledger
from tests.builders.errors import has_code

STATE = (
    "salt", "name", "m", "k", "delta_limit", "entries", "base", "bound", "delta", "population_released", "head",
)  # fmt: skip
FIELDS = (
    "number", "at", "kind", "label", "base", "factor", "delta", "rho_after", "total_base", "total_bound", "total_delta",
    "population_released", "head",
)  # fmt: skip
# plausible values, and implausible ones: other types, other spellings, too large, not UTF-8
VALUES: tuple[object, ...] = (
    0, 1, 2, 3, 7, 999, 10**18, 1.5, -1, "", "0", "1", "2", "1/2", "1/999", "1/1000", "2/1000", "02/9", "1.0", "1e-3",
    "-1/3", "nan", "NaN", "inf", "1/0", "many", "x" * 64, "a" * 64, "9" * 4000, "1/" + "9" * 4000, " 1", "1\n",
    b"\x00", b"1", memoryview(b"\xff\xfe"), None,
)  # fmt: skip
NOT_UTF8 = object()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    """A ledger with every kind of entry."""
    made = Ledger.create(tmp_path / "patients.ledger", m=1000, k=5, name="patients")
    made.book_query("1/500", "how many smoke")
    made.book_population_release(100, "grid")
    made.book_release(2, "1/2", 70, "spring")
    return made


def tamper(ledger: Ledger, *statements: tuple[str, Sequence[object]] | str) -> None:
    """Change the file as with an editor for SQLite.

    Triggers are removed and restored.
    """
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(*((statement, ()) if isinstance(statement, str) else statement))
        for _, made in triggers:
            connection.execute(made)
        connection.commit()


def row(ledger: Ledger, query: str) -> Any:
    with closing(sqlite3.connect(ledger.path)) as connection:
        return connection.execute(query).fetchone()


def everything(ledger: Ledger, table: str) -> list[Any]:
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.text_factory = bytes
        return connection.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall()


def refused(call: Callable[[], object], message: str = "ledger") -> None:
    with pytest.raises(errors.LedgerUnreadableError, match=message) as caught:
        call()
    assert caught.value.exit_status == 2


def edits(ledger: Ledger, table: str, field: str, which: str) -> Callable[[Callable[[Ledger], None]], int]:
    """Try all values in one field and count those that the file accepts.

    Each is tried in a copy of the ledger.
    """

    def each(judge: Callable[[Ledger], None]) -> int:
        was = row(ledger, f"SELECT {field} FROM {table} WHERE {which}")[0]
        tried = 0
        for value in (*(VALUES if table == "state" else VALUES[::3]), NOT_UTF8):
            if value == was and type(value) is type(was):
                continue
            copy = Ledger(ledger.path.with_name("copy.ledger"), patience=1)
            shutil.copy(ledger.path, copy.path)
            setting = "CAST(X'ff' AS TEXT)" if value is NOT_UTF8 else "?"
            given = () if value is NOT_UTF8 else (value,)
            try:
                tamper(copy, (f"UPDATE {table} SET {field} = {setting} WHERE {which}", given))
            except sqlite3.Error as error:
                assert "locked" not in str(error)
                continue  # the file does not take it: NULL where there must be something, text in the key
            if everything(copy, table) == everything(ledger, table):
                continue  # SQLite reads '1' as 1 in a column of whole numbers
            judge(copy)
            tried += 1
        return tried

    return each


@pytest.mark.parametrize("field", STATE)
def test_every_field_of_the_state_is_chained(ledger: Ledger, field: str) -> None:
    """Every field of the state is also checked before each booking."""

    def judge(copy: Ledger) -> None:
        before = copy.path.read_bytes()
        for call in (copy.verify, copy.status, copy.entries, lambda: copy.book_query("1/900")):
            refused(call)
        assert copy.path.read_bytes() == before

    assert edits(ledger, "state", field, "only_row = 1")(judge) > 15


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_every_entry_is_chained(ledger: Ledger, field: str, number: int) -> None:
    def judge(copy: Ledger) -> None:
        refused(copy.verify)
        if number == 3:  # the last one is looked at before each booking
            refused(lambda: copy.book_query("1/900"))

    least = 0 if field == "number" else 3
    assert edits(ledger, "entries", field, f"number = {number}")(judge) > least


def test_state_set_back_is_noticed(tmp_path: Path) -> None:
    """Restore the whole state of an earlier day, with its head.

    It would report ρ = 0.002 where the true value is 0.031.
    """
    ledger = Ledger.create(tmp_path / "l", m=1000, k=5)
    ledger.book_query("1/500")
    early = row(ledger, "SELECT * FROM state")
    for _ in range(4):
        ledger.book_query("1/500")
    assert 0.030 < ledger.status().rho < 0.032
    tamper(ledger, "DELETE FROM state", (f"INSERT INTO state VALUES ({', '.join('?' * len(early))})", early))
    refused(lambda: ledger.book_query("1/500"))
    refused(ledger.status)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_deleted_entry_is_noticed_even_with_a_matching_state(ledger: Ledger, number: int) -> None:
    entries = ledger.entries()
    remaining = [entry for entry in entries if entry.number != number]
    totals = hash_chain.Totals.empty(hash_chain.Terms("", "", 1000, 5, Fraction(0)))
    for entry in remaining:
        totals = totals.after(entry.base, entry.factor, entry.delta)
    tamper(
        ledger,
        f"DELETE FROM entries WHERE number = {number}",
        (
            "UPDATE state SET entries = ?, base = ?, bound = ?, delta = ?, population_released = ?, head = ?",
            (*totals.written(), remaining[-1].head),
        ),
    )
    refused(ledger.verify)
    refused(lambda: ledger.book_query("1/900"))


def test_deleted_middle_entry_is_noticed_with_unchanged_state(ledger: Ledger) -> None:
    ledger.book_query("1/900")
    tamper(ledger, "DELETE FROM entries WHERE number = 2")
    assert ledger.status().entries == 4  # the totals are still those of the last entry, and are right
    refused(ledger.verify, "totals of an entry|head")


def test_swapped_entries_are_noticed(ledger: Ledger) -> None:
    tamper(
        ledger,
        "UPDATE entries SET number = 99 WHERE number = 1",
        "UPDATE entries SET number = 1 WHERE number = 2",
        "UPDATE entries SET number = 2 WHERE number = 99",
        "UPDATE sqlite_sequence SET seq = 3",
    )
    refused(ledger.verify)


def test_an_entry_of_another_ledger_is_noticed(tmp_path: Path) -> None:
    """The same booking in another ledger is another link.

    This holds even at the same time and with the same terms.
    """
    one, two = (Ledger.create(tmp_path / name, m=1000, k=5) for name in "ab")
    one.book_query("1/500")
    two.book_query("1/500")
    head = row(two, "SELECT head FROM state")[0]
    assert head != row(one, "SELECT head FROM state")[0]
    tamper(one, ("UPDATE entries SET head = ?", (head,)), ("UPDATE state SET head = ?", (head,)))
    refused(lambda: one.book_query("1/900"), "head")


def test_truncated_history_is_noticed_by_the_entry_count(ledger: Ledger) -> None:
    """A history cut short with its state differs from the count of entries.

    That count includes all entries ever made.
    """
    early = ledger.path.with_name("early")
    shorter = Ledger.create(early, m=1000, k=5)
    shorter.book_query("1/500")
    state = row(shorter, "SELECT * FROM state")
    shorter.book_query("1/500")
    tamper(
        shorter,
        "DELETE FROM entries WHERE number = 2",
        "DELETE FROM state",
        (f"INSERT INTO state VALUES ({', '.join('?' * len(state))})", state),
    )
    refused(lambda: shorter.book_query("1/500"), "number of entries")


def test_old_copy_is_noticed_by_a_noted_head(ledger: Ledger, tmp_path: Path) -> None:
    old = tmp_path / "backup"
    shutil.copy(ledger.path, old)
    first = ledger.entries()[0].head
    middle = ledger.status().head
    newest = ledger.book_query("1/900").head
    assert newest == ledger.status().head == ledger.entries()[-1].head
    for noted in (first, middle, newest):
        assert Ledger.open(ledger.path, expected=noted).verify().head == newest
    assert Ledger.open(ledger.path, expected=newest).book_query("1/950").number == 5
    shutil.copy(old, ledger.path)
    assert ledger.verify().entries == 3  # by itself it looks whole
    assert Ledger.open(ledger.path, expected=middle).status().head == middle
    late = Ledger(ledger.path, expected=newest)
    before = ledger.path.read_bytes()
    for call in (late.status, late.verify, late.entries, lambda: late.book_query("1/900")):
        with pytest.raises(errors.LedgerHeadError, match="older copy") as caught:
            call()
        assert caught.value.exit_status == 2
    assert ledger.path.read_bytes() == before
    ledger.book_query("1/900")  # the same after a further booking
    with pytest.raises(errors.LedgerHeadError):
        Ledger.open(ledger.path, expected=newest)


def test_head_is_not_found_in_a_broken_chain(ledger: Ledger) -> None:
    """The text of a noted head, planted in an entry, is not enough."""
    ledger.book_query("1/900")
    tamper(ledger, ("UPDATE entries SET head = ? WHERE number = 1", ("b" * 64,)))
    refused(lambda: Ledger.open(ledger.path, expected="b" * 64))


def test_the_head_of_a_new_ledger_can_be_expected(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", m=1000, k=5)
    head = ledger.status().head
    assert ledger.book_query("1/500").head != head
    assert Ledger.open(ledger.path, expected=head).status().entries == 1
    other = Ledger.create(tmp_path / "other", m=1000, k=5)
    assert other.status().head != head
    with pytest.raises(errors.LedgerHeadError):
        Ledger.open(other.path, expected=head)


@pytest.mark.parametrize("head", ["", "12", "g" * 64, "a" * 63, "a" * 65, "A" * 64, "a" * 64 + "\n"])
def test_malformed_head_is_refused(ledger: Ledger, head: str) -> None:
    with pytest.raises(errors.ParameterError, check=has_code("budget.ledger-head-malformed")):
        Ledger.open(ledger.path, expected=head)


def test_heads_match_their_definition(ledger: Ledger) -> None:
    """Compute the same hashes from the raw file with separate code."""

    def digest(*fields: object) -> str:
        return hashlib.sha256(json.dumps(["shoal ledger 2", *fields]).encode()).hexdigest()

    connection = sqlite3.connect(ledger.path)
    terms = connection.execute("SELECT salt, name, m, k, delta_limit FROM state").fetchone()
    first = head = digest("terms", *terms)
    for *fields, stored in connection.execute(f"SELECT {', '.join(FIELDS)} FROM entries ORDER BY number"):
        head = digest("entry", first, head, *fields)
        assert stored == head
    assert ledger.status().head == head
    assert len(terms[0]) == 32  # a salt, so that a published head reveals nothing about labels


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TRIGGER entries_stay",
        "DROP TRIGGER entries_are_final",
        "CREATE TRIGGER t AFTER UPDATE ON state BEGIN UPDATE state SET bound = '1'; END",
        "CREATE TABLE more (x)",
        "CREATE VIEW v AS SELECT 1",
        "ALTER TABLE entries ADD COLUMN more TEXT",
    ],
)
def test_other_tables_and_triggers_are_noticed(ledger: Ledger, statement: str) -> None:
    connection = sqlite3.connect(ledger.path)
    connection.execute(statement)
    connection.commit()
    connection.close()
    refused(lambda: ledger.book_query("1/900"), "tables")
    refused(ledger.verify, "tables")


def test_lost_write_is_not_committed(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A booking is not committed if it does not stay as it was written."""
    from shoal.budget import ledger as module

    before = ledger.path.read_bytes()
    write = module._write

    def forgetful(connection: sqlite3.Connection, entry: hash_chain.Entry) -> None:
        connection.execute("SAVEPOINT s")
        write(connection, entry)
        connection.execute("ROLLBACK TO s")

    monkeypatch.setattr(module, "_write", forgetful)
    refused(lambda: ledger.book_query("1/900"), "does not stay")
    assert ledger.path.read_bytes() == before


def test_the_check_before_a_booking_does_not_grow_with_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger.create(tmp_path / "l", m=10**6, k=2)
    reads: list[int] = []
    steps: list[int] = []
    read = hash_chain.Entry.read
    monkeypatch.setattr(hash_chain.Entry, "read", lambda row: reads.append(1) or read(row))
    connect = sqlite3.connect

    def counting(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*arguments, **options)
        connection.set_progress_handler(lambda: steps.append(1) or 0, 1)  # every step of SQLite's machine
        return connection

    monkeypatch.setattr(sqlite3, "connect", counting)
    cost = []
    for number in range(60):
        reads.clear()
        steps.clear()
        ledger.book_query("1/999000")
        if number in (3, 59):
            cost.append((len(reads), len(steps)))
    assert cost[0] == cost[1]


def test_ledger_of_format_1_is_refused(ledger: Ledger) -> None:
    connection = sqlite3.connect(ledger.path)
    connection.execute("PRAGMA user_version = 1")
    connection.close()
    refused(ledger.status, "format 1, which chains.*create a new ledger")


def test_a_ledger_without_a_state_is_refused(ledger: Ledger) -> None:
    tamper(ledger, "DELETE FROM state")
    refused(lambda: ledger.book_query("1/900"), "not one row")


def test_impossible_entries_with_valid_heads_are_refused(tmp_path: Path) -> None:
    """Recomputed heads do not make entries valid that the rules forbid."""
    terms = hash_chain.Terms("s", "n", 1000, 5, Fraction(1, 10))
    empty = hash_chain.Totals.empty(terms)

    def compute_head(
        *spendings: tuple[Fraction | None, Fraction, Fraction],
    ) -> tuple[list[hash_chain.Entry], hash_chain.Totals, str]:
        totals, head, entries = empty, terms.head, []
        for base, factor, delta in spendings:
            totals = totals.after(base, factor, delta)
            entry = hash_chain.Entry("t", "query", "", base, factor, delta, totals)
            head = entry.compute_head(terms.head, head)
            entries.append(hash_chain.Entry("t", "query", "", base, factor, delta, totals, head))
        return entries, totals, head

    one, zero = Fraction(1), Fraction(0)
    good, totals, head = compute_head((None, Fraction(3), zero), (Fraction(1, 9), one, zero), (None, Fraction(2), zero))
    hash_chain.check_all_entries(terms, totals, head, good)
    hash_chain.check_last_entries(terms, totals, head, good[-2:], 3)
    for wrong in (
        [(Fraction(1, 9), one, zero), (Fraction(1, 20), one, zero)],  # a second population release, of a lower base
        [(None, Fraction(3), zero), (None, Fraction(1, 3), zero)],  # a factor that gives budget back
        [(Fraction(0), one, zero)],
    ):
        entries, totals, head = compute_head(*wrong)
        refused(lambda: hash_chain.check_all_entries(terms, totals, head, entries), "cannot have been booked")  # noqa: B023
    for last, ever in ((good[-1:], 3), (good[-2:], 4), (good[-2:], 2), ([], 3), (good, 3)):
        refused(lambda: hash_chain.check_last_entries(terms, *sealed_end(good), last, ever), "number of entries")  # noqa: B023


def sealed_end(entries: Sequence[hash_chain.Entry]) -> tuple[hash_chain.Totals, str]:
    return entries[-1].totals, entries[-1].head


def test_impossible_terms_are_refused() -> None:
    hash_chain.Terms.read("s", "n", 3, 2, "0")
    for m, k, limit in ((2, 2, "0"), (3, 1, "0"), (5, 9, "0"), (9, 2, "1"), (9, 2, "3/2"), (2**63, 2, "0")):
        refused(lambda: hash_chain.Terms.read("s", "n", m, k, limit))  # noqa: B023
    for written in (
        "2/4",
        "+1/2",
        "1_0/90",
        "00",
        "0.5",
        "1/0",
        " 0",
    ):  # one half and zero, in other notations than those of bookings
        refused(lambda: hash_chain.Terms.read("s", "n", 9, 2, written))  # noqa: B023


def test_impossible_totals_are_refused() -> None:
    hash_chain.Totals.read(0, "1/9", "1", "0", 0)
    for base, bound, delta in (("0", "1", "0"), ("1", "1", "0"), ("1/9", "8/9", "0"), ("1/9", "1", "1")):
        refused(lambda: hash_chain.Totals.read(0, base, bound, delta, 0), "totals")  # noqa: B023


# -- on disk before the call returns -----------------------------------------------------------------------


def test_every_commit_waits_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read SQLite's level of synchronization at the moment of each commit.

    FULL is 2, EXTRA is 3, OFF would be 0.
    """
    levels: list[int] = []

    class Watched(sqlite3.Connection):
        def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
            if statement == "COMMIT":
                levels.append(super().execute("PRAGMA synchronous").fetchone()[0])
            return super().execute(statement, *arguments)

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **k, factory=Watched))
    ledger = Ledger.create(tmp_path / "l", m=1000, k=5)
    ledger.book_query("1/500")
    ledger.book_population_release(100)
    ledger.book_release(2, "1/2", 70)
    ledger.book_choice("3/2")
    assert levels == [3] * 5


# -- sums --------------------------------------------------------------------------------------------------


def test_no_population_release_lowers_the_base_below_the_blind_guess(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", m=100, k=5)
    assert ledger.book_population_release(10_000).rho == Fraction(1, 100)
    assert ledger.status().base == Fraction(1, 100)
    assert ledger.book_query("1/50").rho == Fraction(1, 50)


def test_delta_adds_up_and_is_refused_at_the_limit_and_not_before(tmp_path: Path) -> None:
    delta = Ledger.create(tmp_path / "first", m=10**6, k=5).book_release(2, "1/2", 66).delta
    assert 0 < delta < Fraction(1, 10**6)
    ledger = Ledger.create(tmp_path / "l", m=10**6, k=5, delta_limit=2 * delta)
    ledger.book_release(2, "1/2", 66)
    assert ledger.status().remaining_delta == delta
    ledger.book_query("1/900000")
    assert ledger.status().delta == delta
    ledger.book_release(2, "1/2", 66)
    assert (ledger.status().delta, ledger.status().remaining_delta) == (2 * delta, 0)
    with pytest.raises(errors.DeltaExceededError):
        ledger.book_release(2, "1/2", 300)
    assert ledger.verify().entries == 3


def test_a_delta_of_thousands_of_digits_can_be_booked(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l", m=10**6, k=5)
    booking = ledger.book_release(16, "1/1000", 2000)  # 10^-5600
    assert 0 < booking.delta <= Fraction(1, 2**4000)
    assert ledger.verify().delta == booking.delta
    assert len(str(booking.delta)) < 2000


def test_tiny_numbers_are_rounded_up_to_a_writable_one() -> None:
    tiny = Fraction(1, 3**100_000)
    assert tiny < round_up(tiny) == Fraction(1, 2**4096)
    assert round_up(Fraction(1, 2**1024 - 1)) == Fraction(1, 2**1024 - 1)
    assert round_up(Fraction(1, 2**1024)) >= Fraction(1, 2**1024)


def test_booking_reports_its_head_and_the_spent_budget(ledger: Ledger) -> None:
    booking = ledger.book_query("1/900", "again")
    status, last = ledger.verify(), ledger.entries()[-1]
    assert (booking.head, booking.number, booking.rho) == (status.head, status.entries, status.rho)
    assert (last.head, last.number, last.label) == (booking.head, 4, "again")
    assert status.to_dict()["head"] == status.head
    assert rho_from_bound(last.factor, 1000) == Fraction(1, 900)
