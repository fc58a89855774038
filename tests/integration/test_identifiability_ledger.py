"""The ledger: balances, refusals, concurrent processes and kills.

Balances are exact, refusals change nothing, and neither many processes at once nor kills at any point do harm.

Run as a program, this file is the parent of the processes of the last two tests: one light process that has imported
the ledger and forks the others.
"""

from __future__ import annotations

import ast
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from shoal.budget import errors
from shoal.budget.arithmetic import bound_from_rho, rho_from_bound, sampling_delta
from shoal.budget.ledger import MAX_ROWS_PER_PERSON, Ledger
from shoal.budget.mechanisms import Span
from shoal.budget.noisy_queries import ask_best_of, ask_count, ask_histogram, ask_mean, ask_sum
from shoal.budget.universe import read_universe
from shoal.errors import InfeasibleError, InputError, ShoalError


def bytes_of(ledger: Ledger) -> bytes:
    return ledger.path.read_bytes()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "patients.ledger"


# ---- balances
# -------------------------------------------------------------------------------------------------


def test_worked_example_within_the_budget(path: Path) -> None:
    ledger = Ledger.create(path, m=10**4, k=5)
    ledger.book_population_release(20)
    booking = ledger.book_query("1/2500")
    assert booking.rho == Fraction(3333, 19160)
    assert booking.rho_in_paper == Fraction(1, 5)
    assert booking.bound == bound_from_rho("1/2500", 10**4)


def test_worked_example_spending_everything(path: Path) -> None:
    ledger = Ledger.create(path, m=10**4, k=5)
    ledger.book_population_release(20)
    booking = ledger.book_query("19/40015")
    assert booking.rho == Fraction(1, 5)
    assert booking.rho_in_paper is not None
    assert booking.rho_in_paper > Fraction(1, 5)
    assert ledger.status().remaining_bound == 1
    assert ledger.status().remaining_rho is None
    with pytest.raises(errors.BudgetExceededError, match="Nothing remains"):
        ledger.book_query("1001/10000000")


def test_worked_example_refused_the_second_time(path: Path) -> None:
    ledger = Ledger.create(path, m=100, k=5)
    ledger.book_population_release(10)
    before = ledger.status(), bytes_of(ledger)
    with pytest.raises(errors.BudgetExceededError, match=r"33/130 .*unchanged"):
        ledger.book_query("3/100")
    assert (ledger.status(), bytes_of(ledger)) == before
    assert ledger.book_query("1/50").rho == Fraction(11, 60)
    before = ledger.status(), bytes_of(ledger)
    with pytest.raises(errors.BudgetExceededError):
        ledger.book_query("1/50")
    assert (ledger.status(), bytes_of(ledger)) == before


def test_worked_example_of_three_queries(path: Path) -> None:
    ledger = Ledger.create(path, m=1000, k=5)
    for _ in range(3):
        booking = ledger.book_query("1/200")
    assert booking.rho == ledger.verify().rho == Fraction(998001, 8878600)


def test_worked_example_of_a_small_universe(path: Path) -> None:
    ledger = Ledger.create(path, m=9, k=2)
    ledger.book_population_release(3)
    assert ledger.book_query("1/5").rho == Fraction(1, 2)


def test_remaining_rho_can_be_spent(path: Path) -> None:
    ledger = Ledger.create(path, m=1000, k=7)
    ledger.book_query("1/90")
    remaining = ledger.status().remaining_rho
    assert remaining is not None
    assert ledger.book_query(remaining).rho == Fraction(1, 7)


def test_printed_remaining_rho_can_be_spent(path: Path) -> None:
    ledger = Ledger.create(path, m=1000, k=7)
    ledger.book_query("1/90")
    ledger.book_query(str(ledger.status().to_dict()["remaining_rho"]))


def test_sampled_release(path: Path) -> None:
    ledger = Ledger.create(path, m=10**6, k=5, delta_limit="2e-6")
    booking = ledger.book_release(2, "1/2", 66, label="spring")
    assert booking.bound == 2
    assert booking.delta == sampling_delta(2, 66, "1/2")
    assert booking.rho == rho_from_bound(4, 10**6)
    ledger.book_release(2, "1/2", 66)
    assert ledger.status().bound == 16
    assert ledger.status().delta == 2 * booking.delta
    before = ledger.status(), bytes_of(ledger)
    with pytest.raises(errors.DeltaExceededError, match="unchanged"):
        ledger.book_release(2, "1/2", 60)
    assert (ledger.status(), bytes_of(ledger)) == before


def test_a_choice_and_the_entries(path: Path) -> None:
    ledger = Ledger.create(path, m=1000, k=5, name="patients")
    ledger.book_choice("3/2", label="levels")
    ledger.book_population_release(50, label="grid")
    ledger.book_query("1/500", label="count of \N{SNOWMAN}\udcff")
    kinds = [(entry.number, entry.kind, entry.label, entry.factor) for entry in ledger.entries()]
    assert kinds == [
        (1, "choice", "levels", Fraction(3, 2)),
        (2, "population release", "grid", Fraction(1)),
        (3, "query", "count of \N{SNOWMAN}?", bound_from_rho("1/500", 1000)),
    ]
    status = ledger.verify()
    assert (status.name, status.entries, status.population_released) == ("patients", 3, True)
    assert status.rho == ledger.entries()[-1].rho_after
    assert status.to_dict()["entries"] == 3


def test_order_does_not_matter(tmp_path: Path) -> None:
    first, second = Ledger.create(tmp_path / "1", m=1000, k=5), Ledger.create(tmp_path / "2", m=1000, k=5)
    first.book_query("1/500")
    first.book_population_release(10)
    second.book_population_release(10)
    second.book_query("1/500")
    assert first.status().rho == second.status().rho


def test_long_histories_stay_small(path: Path) -> None:
    ledger = Ledger.create(path, m=10**9, k=2)
    bound = Fraction(1)
    for i in range(150):
        rho = Fraction(1, 10**9 - 10**6 - 7 * i)
        bound *= bound_from_rho(rho, 10**9)
        ledger.book_query(rho)
    total = ledger.verify().bound
    assert bound < total < bound * (1 + Fraction(1, 2**200))
    assert len(str(total)) < 700
    ledger.book_choice(1 + Fraction(1, 3**3000))  # more digits than Python would print
    ledger.verify()


def test_paths_with_odd_names(tmp_path: Path) -> None:
    for name in ("a b?c#d%20.ledger", "\N{SNOWMAN}.ledger", os.fsdecode(b"\xff.ledger")):
        ledger = Ledger.create(tmp_path / name, m=100, k=5)
        assert Ledger.open(tmp_path / name).book_query("1/50").number == 1
        assert ledger.status().entries == 1


# ---- refusals
# -------------------------------------------------------------------------------------------------


def test_second_population_release(path: Path) -> None:
    ledger = Ledger.create(path, m=1000, k=3)
    ledger.book_population_release(100)
    before = bytes_of(ledger)
    with pytest.raises(errors.SecondPopulationReleaseError, match="unchanged"):
        ledger.book_population_release(100)
    assert bytes_of(ledger) == before


@pytest.mark.parametrize(
    ("book", "error"),
    [
        (lambda ledger: ledger.book_query("1/1000"), errors.RhoTooSmallError),
        (lambda ledger: ledger.book_query("1/4"), errors.RhoAboveCrowdError),
        (lambda ledger: ledger.book_query("many"), errors.ParameterError),
        (lambda ledger: ledger.book_release(2, "0.6", 20), errors.SamplingRateError),
        (lambda ledger: ledger.book_release(2, "1/2", 5), errors.DeltaExceededError),
        (lambda ledger: ledger.book_population_release(4), errors.BudgetExceededError),
        (lambda ledger: ledger.book_population_release(1), errors.ParameterError),
        (lambda ledger: ledger.book_choice(1), errors.ParameterError),
        (lambda ledger: ledger.book_choice(10**6), errors.BudgetExceededError),
    ],
)
def test_a_refused_booking_changes_nothing(path: Path, book, error) -> None:  # type: ignore[no-untyped-def]
    ledger = Ledger.create(path, m=1000, k=5)
    ledger.book_query("1/500")
    before = ledger.status(), bytes_of(ledger)
    with pytest.raises(error) as caught:
        book(ledger)
    assert isinstance(caught.value, InputError | InfeasibleError)
    assert (ledger.status(), bytes_of(ledger)) == before


# ---- the file
# -------------------------------------------------------------------------------------------------


def test_the_file_is_private_and_never_replaced(path: Path) -> None:
    Ledger.create(path, m=100, k=5)
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    with pytest.raises(errors.LedgerExistsError):
        Ledger.create(path, m=10**6, k=2)
    assert path.read_bytes() == before


def test_killed_creation_can_be_repeated(path: Path) -> None:
    path.touch()
    with pytest.raises(errors.LedgerUnreadableError):
        Ledger.open(path)
    assert Ledger.create(path, m=100, k=5).status().rho == Fraction(1, 100)


def test_files_other_than_ledgers(path: Path, tmp_path: Path) -> None:
    with pytest.raises(errors.LedgerNotFoundError):
        Ledger.open(path)
    assert not path.exists()
    with pytest.raises(errors.LedgerNotFoundError):
        Ledger.create(tmp_path / "nowhere" / "file", m=100, k=5)
    path.write_text("a table, by mistake\n" * 100)
    with pytest.raises(errors.LedgerUnreadableError, match="NOTADB"):
        Ledger.open(path)
    with pytest.raises(errors.LedgerUnreadableError):
        Ledger.create(path, m=100, k=5)
    assert path.read_text().startswith("a table, by mistake")
    other = tmp_path / "other.db"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE things (thing)")
    connection.commit()
    connection.close()
    with pytest.raises(errors.LedgerUnreadableError, check=lambda error: error.code == "budget.not-a-ledger"):
        Ledger.open(other)
    with pytest.raises(errors.LedgerExistsError):
        Ledger.create(other, m=100, k=5)


def test_manual_change_of_a_ledger_is_noticed(path: Path) -> None:
    ledger = Ledger.create(path, m=1000, k=5)
    ledger.book_query("1/100")
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="final"):
        connection.execute("DELETE FROM entries")
    connection.execute("UPDATE state SET bound = '1'")
    connection.commit()
    connection.close()
    with pytest.raises(errors.LedgerUnreadableError, match="sum of its entries"):
        ledger.verify()


def test_a_busy_ledger(path: Path) -> None:
    ledger = Ledger.create(path, m=1000, k=5)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(errors.LedgerBusyError, match="Try again"):
        Ledger(path, patience=0.05).book_query("1/100")
    other.execute("ROLLBACK")
    other.close()
    assert ledger.status().entries == 0


def test_largest_universe_of_the_file_format(path: Path) -> None:
    assert Ledger.create(path, m=2**63 - 1, k=5).status().m == 2**63 - 1


def test_patience_is_the_busy_timeout(path: Path) -> None:
    """A call waits for others as long as its patience lasts."""
    Ledger.create(path, m=1000, k=5)
    with Ledger(path, patience=0.25)._connection() as connection:
        assert connection.execute("PRAGMA busy_timeout").fetchone() == (250,)


@pytest.mark.parametrize(("m", "k", "limit"), [(5, 5, 0), (100, 1, 0), (100, 5, 1), (100, 5, -1), (2**70, 5, 0)])
def test_bad_declarations(path: Path, m: int, k: int, limit: int) -> None:
    with pytest.raises(errors.ParameterError):
        Ledger.create(path, m=m, k=k, delta_limit=limit)
    assert not path.exists()


def test_booking_imports_no_table_libraries() -> None:
    package = Path(errors.__file__).parents[1]
    program = (
        "import sys, types\n"
        "shoal = types.ModuleType('shoal'); shoal.__path__ = [sys.argv[1]]; sys.modules['shoal'] = shoal\n"
        "import shoal.budget.ledger\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))\n"
    )
    found = subprocess.run([sys.executable, "-c", program, str(package)], capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(found.stdout.strip()))
    assert loaded.isdisjoint({"duckdb", "numpy", "pyarrow", "pandas", "pydantic", "numba"})


# ---- answers
# --------------------------------------------------------------------------------------------------


def test_answers_are_booked_first(path: Path) -> None:
    ledger = Ledger.create(path, m=1000, k=5)
    seen: list[int] = []

    def exact() -> int:
        seen.append(ledger.status().entries)
        return 40

    answer = ask_count(ledger, "1/100", exact, label="smokers")
    assert seen == [1]
    assert answer.to_dict()["entry"] == 1
    span = Span.of(0, 10)
    ask_sum(ledger, "1/500", exact, span, filtered=True)
    ask_mean(ledger, "1/500", exact, 7, span)
    assert seen == [1, 2, 3]
    histogram = ask_histogram(ledger, "1/500", 3, lambda: [1, 2, 3])
    assert isinstance(histogram.to_dict()["answer"], list)
    assert ask_best_of(ledger, "1/500", 2, lambda: [0, 10**6], 1).values == (1,)
    assert [entry.label for entry in ledger.entries()] == ["smokers", "", "", "", ""]


def test_a_refused_question_does_not_touch_the_data(path: Path) -> None:
    ledger = Ledger.create(path, m=1000, k=5)

    def exact() -> int:
        raise AssertionError("the data was read")

    with pytest.raises(ShoalError):
        ask_count(ledger, "1/4", exact)
    with pytest.raises(errors.RhoTooSmallError):
        ask_sum(ledger, "1/1000", exact, Span.of(0, 1), filtered=False)
    assert ledger.status().entries == 0


def test_failed_answer_is_spent(path: Path) -> None:
    ledger = Ledger.create(path, m=1000, k=5)
    with pytest.raises(errors.ParameterError, match="declared"):
        ask_histogram(ledger, "1/500", 3, lambda: [1, 2])
    assert ledger.status().entries == 1


# ---- many processes, and kills
# --------------------------------------------------------------------------------


def run_parent(mode: str, ledger: Path, answers: Path) -> list[str]:
    """Run this file as the parent process; return its children's lines."""
    subprocess.run([sys.executable, __file__, mode, str(ledger), str(answers)], check=True, timeout=300)
    return answers.read_text().split()


def test_100_processes_never_overspend(path: Path, tmp_path: Path) -> None:
    ledger = Ledger.create(path, m=10**4, k=5)
    lines = run_parent("crowd", path, tmp_path / "answers")
    # E = 11/10 each, and 9999/4 in all: 82 of the 300 questions fit.
    booked = [int(line) for line in lines if line != "refused"]
    assert len(lines) == 300
    assert sorted(booked) == list(range(1, 83))
    status = ledger.verify()
    assert status.entries == 82
    assert status.bound == Fraction(11, 10) ** 82
    assert status.rho <= Fraction(1, 5) < rho_from_bound(status.bound * Fraction(11, 10), 10**4)


def test_400_kills_lose_no_booking_and_leave_no_answer_unbooked(path: Path, tmp_path: Path) -> None:
    ledger = Ledger.create(path, m=10**6, k=2)
    answered = [int(line) for line in run_parent("kills", path, tmp_path / "answers")]
    status = ledger.verify()
    numbers = [entry.number for entry in ledger.entries()]
    assert len(set(answered)) == len(answered) > 100
    assert set(answered) <= set(numbers)
    assert len(numbers) - len(answered) <= 400  # each kill wastes one booking at most
    assert numbers == list(range(1, len(numbers) + 1))
    assert status.rho <= Fraction(1, 2)


def _book_and_answer(ledger: Ledger, rho: Fraction, answers: int) -> None:
    """Book, then answer: one line of the file, written at once."""
    try:
        line = str(ledger.book_query(rho).number)
    except errors.BudgetExceededError:
        line = "refused"
    os.write(answers, f"{line}\n".encode())


def _crowd(ledger: Ledger, answers: int) -> None:
    """Start 100 processes at once, each asking three times."""
    rho = rho_from_bound(Fraction(11, 10), 10**4)
    waiting, starting = os.pipe()
    children = []
    for _ in range(100):
        child = os.fork()
        if child == 0:
            os.close(starting)
            os.read(waiting, 1)  # returns when the parent closes its end
            for _ in range(3):
                _book_and_answer(ledger, rho, answers)
            os._exit(0)
        children.append(child)
    os.close(starting)
    for child in children:
        assert os.waitpid(child, 0)[1] == 0


def _kills(ledger: Ledger, answers: int) -> None:
    """Kill two processes, 200 times, after the time of 0 to 4 bookings.

    Until then they ask without end.
    """
    rho = rho_from_bound(Fraction(10**4 + 1, 10**4), 10**6)
    generator = random.Random(1)
    start = time.perf_counter()
    for _ in range(20):
        _book_and_answer(ledger, rho, answers)
    pace = min(0.02, (time.perf_counter() - start) / 20)
    for _ in range(200):
        children = []
        for _ in range(2):
            child = os.fork()
            if child == 0:
                while True:
                    _book_and_answer(ledger, rho, answers)
            children.append(child)
        for child in children:
            time.sleep(generator.uniform(0, 4 * pace))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        ledger.status()


if __name__ == "__main__":
    mode, path_of_ledger, path_of_answers = sys.argv[1:]
    descriptor = os.open(path_of_answers, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    {"crowd": _crowd, "kills": _kills}[mode](Ledger.open(path_of_ledger, patience=120), descriptor)


# -- faults that a random sample of mutants showed to go unnoticed ------------------------------------------


def test_smallest_declarations(tmp_path: Path) -> None:
    with pytest.raises(errors.ParameterError):
        Ledger.create(tmp_path / "one", m=1, k=2)
    ledger = Ledger.create(tmp_path / "two", m=1000, k=2)
    with pytest.raises(errors.ParameterError):
        ledger.book_query(Fraction(1, 500), "x", rows=MAX_ROWS_PER_PERSON + 1)
    with pytest.raises(errors.ParameterError):
        ledger.book_population_release(1, "x")
    assert ledger.book_population_release(2, "x").rho <= Fraction(1, 2)


def test_universe_with_semicolons(tmp_path: Path) -> None:
    file = tmp_path / "census.csv"
    for text in ("age;count\n20;5\n", "age,count\n20,5\n", '"a;ge",count\n20,5\n'.replace("a;ge", "age")):
        file.write_text(text)
        assert read_universe(file, ["age"]) == {("20",): 5}
    file.write_text("count\n5\n")
    assert read_universe(file, []) == {(): 5}
