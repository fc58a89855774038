"""Cases for fuzzing: files and the commands to run, from one seed.

Each starts with a table and a plan that match, and is then modified at some points. Every table contains secrets, which
no error may disclose.
"""

from __future__ import annotations

import base64
import copy
import csv
import io
import json
import random
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """Files by name, commands in order, and secrets."""

    files: dict[str, bytes]
    commands: tuple[tuple[str, ...], ...]
    secrets: tuple[str, ...]
    seed: int = 0
    finding: str = ""

    def to_json(self) -> str:
        """Format a case for the corpus."""
        files = {}
        for name, raw in self.files.items():
            try:
                files[name] = {"text": raw.decode()}
            except UnicodeDecodeError:
                files[name] = {"base64": base64.b64encode(raw).decode()}
        content = {"finding": self.finding, "seed": self.seed, "commands": self.commands, "secrets": self.secrets}
        return json.dumps({**content, "files": files}, indent=1, ensure_ascii=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Case:
        """Parse a case written by `to_json`."""
        content = json.loads(text)
        files = {
            name: raw["text"].encode() if "text" in raw else base64.b64decode(raw["base64"])
            for name, raw in content["files"].items()
        }
        commands = tuple(tuple(command) for command in content["commands"])
        return cls(files, commands, tuple(content["secrets"]), content["seed"], content["finding"])


def make_case(seed: int) -> Case:
    """Make the case of a seed."""
    chance = random.Random(seed)
    secrets = (f"Qz{chance.getrandbits(40):010x}", str(chance.randrange(10**11, 10**12)))
    header, rows = _table(chance, secrets)
    document = _plan(chance, header)
    if chance.random() < 0.4:
        _add_people(chance, rows, document)
    if chance.random() < 0.5:  # by these numbers the released rows are known to the checker
        header, rows = [*header, "row"], [[*row, f"r{number}"] for number, row in enumerate(rows)]
        document["columns"]["row"] = {"role": "other"}
    parquet = chance.random() < 0.3
    name = "source.parquet" if parquet else "source.csv"
    document["source"]["path"] = name
    output = chance.choice(["released.csv", "released.parquet"])
    document["output"] = {"path": output}
    if chance.random() < 0.9:
        document["output"]["pseudonym_key"] = "keys/key"
    files = {name: _parquet(chance, header, rows) if parquet else _csv(chance, header, rows)}
    files["place.csv"] = _hierarchy(chance)
    files["keys/key"] = b"k" * chance.choice([64] * 9 + [1])
    files["good.csv"] = _plain(header, rows)
    files["kept.recoding"] = _recoding(chance)
    files["ledger"] = _ledger(chance)
    for _ in range(chance.choice([0, 0, 0, 0, 1, 1, 2])):
        _disturb(chance, document)
    files["plan.toml"] = _toml(chance, document)
    return Case(files, _commands(chance, name, output), secrets, seed)


# -- tables ----------------------------------------------------------------------------------------

REGIONS = ["aa", "ab", "ba", "bb", "bc"]
ILLNESSES = ["flu", "gout", "rash", "HIV"]
ODD_VALUES = ["", " ", "NA", "-0", "0.0", "-0.0", "1e400", "nan", "inf", "1_000", "9" * 30, "é", "é", "=1+1", "x" * 300,
       "\u202e", "'", '"', "a,b", "a\nb", "20", "020", "٣", "1.0", "0x10", "*", "20-29", "2020-02-30"]  # fmt: skip


def _table(chance: random.Random, secrets: tuple[str, ...]) -> tuple[list[str], list[list[str]]]:
    rows = []
    for number in range(chance.choice([0, 1, 3, 12, 40, 40, 40, 80, 80])):
        day = f"{chance.randrange(1990, 1994)}-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}"
        rows.append(
            [f"n{number}", str(chance.randrange(18, 70)), chance.choice(REGIONS), day, chance.choice(ILLNESSES)]
        )
    for _ in range(chance.choice([0, 0, 0, 1, 3])):
        if rows:
            chance.choice(rows)[chance.randrange(5)] = chance.choice(ODD_VALUES)
    for secret in secrets:
        if rows:
            chance.choice(rows)[chance.choice([0] * 12 + [1, 2, 3, 4])] = secret
    return ["name", "age", "place", "born", "ill"], rows


def _plain(header: list[str], rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue().encode()


def _csv(chance: random.Random, header: list[str], rows: list[list[str]]) -> bytes:
    text = io.StringIO()
    delimiter = chance.choice([",", ",", ",", ";", "\t", "|"])
    first = [header] if chance.random() < 0.96 else []
    csv.writer(
        text, delimiter=delimiter, lineterminator=chance.choice(["\n", "\n", "\r\n", "\r"]),
        quoting=chance.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    ).writerows([*first, *rows])  # fmt: skip
    raw = text.getvalue().encode(chance.choice(["utf-8"] * 18 + ["utf-16", "utf-8-sig"]), "replace")
    return _damage(chance, raw) if chance.random() < 0.15 else raw


def _damage(chance: random.Random, raw: bytes) -> bytes:
    """Cut, duplicate, change or insert some bytes."""
    for _ in range(chance.choice([1, 1, 2, 5])):
        at = chance.randrange(len(raw) + 1)
        piece = raw[at : at + chance.randrange(1, 20)]
        sign = chance.choice(
            [b'"', b"\0", b"\r", b"\n", b"\n\n", b",", b"\xff", b"\xc3", b"", b"\xef\xbb\xbf", piece * 2]
        )
        raw = raw[:at] + sign + raw[at + chance.choice([0, 1, len(piece)]) :]
    return raw


def _parquet(chance: random.Random, header: list[str], rows: list[list[str]]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = []
    for position in range(len(header)):
        texts = [row[position] or None for row in rows]
        columns.append(_typed(chance, texts, pa))
    sink = io.BytesIO()
    pq.write_table(pa.table(columns, names=header), sink)
    raw = sink.getvalue()
    return _damage(chance, raw) if chance.random() < 0.15 else raw


def _typed(chance: random.Random, texts: list[str | None], pa: Any) -> Any:
    """Return a column of a random type that its texts can be read in.

    It is a text column if they cannot.
    """
    whole = [int(text) if text and text.isascii() and text.isdigit() and len(text) < 18 else None for text in texts]
    kinds = ["text"] * 4 + ["int", "int", "float", "decimal", "date", "time", "dictionary", "bool", "null"]
    kind = "list" if chance.random() < 0.01 else chance.choice(kinds)
    if kind == "int" and any(number is not None for number in whole):
        width = chance.choice([pa.int64(), pa.int64(), pa.uint64(), pa.float64(), pa.float32()])
        return pa.array(whole, pa.int64()).cast(width, safe=False)
    if kind == "float":
        odd = [0.0, -0.0, float("nan"), float("inf"), 1e308, 5e-324, 0.1]
        return pa.array([chance.choice(odd) if chance.random() < 0.1 else float(chance.randrange(5)) for _ in texts])
    if kind == "decimal":
        return pa.array([None if number is None else str(number) for number in whole]).cast(pa.decimal128(38, 6))
    if kind == "date":
        return pa.array([chance.randrange(9000) if text else None for text in texts], pa.int32()).cast(pa.date32())
    if kind == "time":
        far = [0, 10**15, -(2**62), 2**62] if chance.random() < 0.3 else [0, 10**15]
        unit = chance.choice([pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.duration("us")])
        return pa.array([chance.choice(far) for _ in texts], pa.int64()).cast(unit)
    if kind == "dictionary":
        return pa.array(texts, pa.string()).dictionary_encode()
    if kind == "bool":
        return pa.array([chance.random() < 0.5 for _ in texts])
    if kind == "null":
        return pa.nulls(len(texts))
    if kind == "list":
        return pa.array([[text] for text in texts], pa.list_(pa.string()))
    return pa.array(texts, pa.string())


# -- plans -----------------------------------------------------------------------------------------


def _plan(chance: random.Random, header: list[str]) -> dict[str, Any]:
    hierarchies = {
        "age": [
            {"intervals": [5, 10, 20]},
            {"cuts": [[30, 50], [50]]},
            {"prefix": True},
            {"order": {"fanout": [3]}},
            None,
        ],
        "place": [{"prefix": True}, {"csv": "place.csv"}, {"tree": {"A": ["aa", "ab"], "B": ["ba", "bb", "bc"]}}, None],
        "born": [{"dates": ["month", "year"]}, {"prefix": [3, 6]}, {"flat": True}, None],
    }
    columns: dict[str, Any] = {"name": {"role": "identifier"}}
    for name, choices in hierarchies.items():
        columns[name] = {"role": chance.choice(["quasi-identifier"] * 5 + ["other", "identifier"])}
        hierarchy = chance.choice(choices)
        if hierarchy is not None and columns[name]["role"] == "quasi-identifier":
            columns[name]["hierarchy"] = hierarchy
    columns["ill"] = {"role": chance.choice(["sensitive"] * 4 + ["other"])}
    if chance.random() < 0.6 and columns["ill"]["role"] == "sensitive":
        columns["ill"]["categories"] = [["HIV"], ["gout", "rash"], ["flu"]]
    models: list[dict[str, Any]] = [{"name": "k-anonymity", "k": chance.choice([2, 2, 3, 3])}]
    method = _method(chance)
    if "levels" in method:
        method["levels"] = {name: 1 for name in hierarchies if columns[name]["role"] == "quasi-identifier"}
    narrow = method["name"] in K_ONLY_METHODS or "missing" in method
    if columns["ill"]["role"] == "sensitive" and chance.random() < (0.1 if narrow else 0.8):
        models.append(_model(chance))
    return {
        "source": {}, "columns": columns, "models": models, "method": method,
        "engine": {"threads": 1}, "seed": chance.randrange(5),
    }  # fmt: skip


def _add_people(chance: random.Random, rows: list[list[str]], document: dict[str, Any]) -> None:
    """Add people, pseudonyms and knowledge of an intruder to a plan.

    Some combinations are invalid.
    """
    columns, models = document["columns"], document["models"]
    if chance.random() < 0.6:
        people = max(1, len(rows) // chance.choice([1, 2, 4]))
        for row in rows:
            if row[0].startswith("n"):
                row[0] = chance.choice([f"n{chance.randrange(people)}"] * 9 + ["", " n1", "N1"])
        columns["name"] = {"role": chance.choice(["person"] * 6 + ["household"])}
        if chance.random() < 0.3:
            columns["name"]["pseudonym"] = True
            models.append({"name": "trajectory-anonymity", "k": 2} | chance.choice([{}, {"known_rows": 2}]))
        if chance.random() < 0.4:
            moved = chance.choice([{"shift": {"days": chance.choice([1, 30, 36500])}}, {"relative_to": "first"}])
            columns["born"] = {"role": chance.choice(["quasi-identifier", "other"]), **moved}
    quasi = [name for name, column in columns.items() if column["role"] == "quasi-identifier"]
    linked = columns["name"].get("pseudonym", False)
    if quasi and chance.random() < (0.05 if linked else 0.5):
        known_count = chance.randrange(1, len(quasi) + 1)
        reading = chance.choice([{}, {"reading": "loose"}])
        for model in models:
            model.update(reading)
            model["known"] = known_count if chance.random() < 0.95 else chance.choice(STRANGE_VALUES)
        document["method"] = chance.choice([{"name": "hidden-cells"}, {"name": "full-domain"}, document["method"]])
    elif quasi and chance.random() < (0.05 if linked else 0.4):
        known = chance.sample(quasi, chance.randrange(1, len(quasi) + 1))
        document["keys"] = [{"columns": known, "k": chance.choice([2, 4]), **chance.choice([{}, {"reading": "loose"}])}]
    if columns["name"]["role"] == "person" and chance.random() < 0.8:
        document["method"] = chance.choice([
            {"name": "full-domain", "suppression": 0.5}, {"name": "mondrian"}, {"name": "top-down"},
            {"name": "hidden-cells"}, document["method"],
        ])  # fmt: skip
    if chance.random() < 0.05:
        document["method"]["name"] = chance.choice(["${HOME}", "$${x", "${}", "${a b}", "${" * 50])


K_ONLY_METHODS = ("mdav", "univariate", "cbfs", "v-mdav", "k-first", "anti-unification")


def _model(chance: random.Random) -> dict[str, Any]:
    return chance.choice([
        {"name": "p-sensitive", "p": 2},
        {"name": "p-alpha-sensitive", "p": 2, "alpha": chance.choice([0, 0.5, 1])},
        {"name": "p-plus-alpha-sensitive", "p": 2, "alpha": 1},
        {"name": "l-diversity", "l": 2},
        {"name": "l-diversity", "l": 1.5, "kind": "entropy"},
        {"name": "l-diversity", "l": 2, "kind": "recursive", "c": chance.choice([1, 1.4142135623730951, 3])},
        {"name": "alpha-k", "alpha": chance.choice([0.5, 0.3333333333333333, 0.9]), "k": 2},
        {"name": "t-closeness", "t": chance.choice([0.3, 0.5, 1])},
        {"name": "t-closeness", "t": 0.5, "distance": "ordered"},
        {"name": "delta-disclosure", "delta": 2},
        {"name": "beta-likeness", "beta": chance.choice([1, 3])},
    ])  # fmt: skip


def _method(chance: random.Random) -> dict[str, Any]:
    part = chance.choice([0.0, 0.1, 0.5])
    return chance.choice([
        {"name": "full-domain", "suppression": part},
        {"name": "full-domain", "suppression": part, "loss": "entropy"},
        {"name": "levels", "levels": {"age": 1, "place": 1, "born": 1}, "suppression": 0.9},
        {"name": "top-down"}, {"name": "mondrian"}, {"name": "mondrian", "strict": False},
        {"name": "switching"}, {"name": "local-suppression"}, {"name": "local-suppression", "missing": "loose"},
        {"name": "anti-unification"}, {"name": "mdav", "k": 3}, {"name": "univariate", "k": 3},
        {"name": "cbfs", "k": 2}, {"name": "v-mdav", "k": 3}, {"name": "k-first", "k": 3},
        {"name": "p-first", "k": 3, "effort": 50}, {"name": "auto"}, {"name": "refine"},
    ])  # fmt: skip


STRANGE_VALUES: list[Any] = [
    0, -1, 1, 2, 2**31, 2**63, 10**30, 0.5, -0.0, float("inf"), float("nan"), 1e308, True, False, "", "x", "5", "nan",
    "k-anonymity", "age", "ill", [], [0], [[]], ["a", "a"], [1, "b"], {}, {"a": 1}, {"name": "mdav"}, "\u202e",
    "a" * 500,
]  # fmt: skip


def _disturb(chance: random.Random, document: dict[str, Any]) -> None:
    """Change, drop or add one value anywhere in a document."""
    node: Any = document
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = chance.choice(keys)
        below = node[key]
        if isinstance(below, dict | list) and below and chance.random() < 0.85:
            node = below
            continue
        break
    how = chance.random()
    if key == "path":  # a missing file is not an interesting case
        return
    if how < 0.7:
        node[key] = copy.deepcopy(chance.choice(STRANGE_VALUES))
    elif how < 0.85:
        del node[key]
    elif isinstance(node, dict):
        node[chance.choice(["role", "k", "l", "time_limit", "weights", "publish", "exact", "age", "x"])] = (
            copy.deepcopy(chance.choice(STRANGE_VALUES))
        )


def _toml(chance: random.Random, document: dict[str, Any]) -> bytes:
    import tomli_w

    raw = tomli_w.dumps(document).encode()
    return _damage(chance, raw) if chance.random() < 0.04 else raw


# -- the other files -------------------------------------------------------------------------------


def _hierarchy(chance: random.Random) -> bytes:
    raw = b"aa;A\nab;A\nba;B\nbb;B\nbc;B\n"
    return _damage(chance, raw) if chance.random() < 0.4 else raw


def _recoding(chance: random.Random) -> bytes:
    names = ["age", "place", "born"]
    content: Any = {
        "format": 1, "levels": dict.fromkeys(names, 1), "heights": dict.fromkeys(names, 3), "rules": {},
    }  # fmt: skip
    for _ in range(chance.choice([0, 1, 2])):
        _disturb(chance, content)
    raw = json.dumps(content).encode()
    if chance.random() < 0.1:
        raw = b'{"levels": ' + b"[" * 20000 + b"]" * 20000 + b"}"
    return _damage(chance, raw) if chance.random() < 0.3 else raw


def _ledger(chance: random.Random) -> bytes:
    """Make a ledger with one entry, sometimes with manipulated cells."""
    import sqlite3
    import tempfile
    from pathlib import Path

    from shoal.budget import Ledger

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        Ledger.create(path, m=1000, k=5).book_query("1/500")
        if chance.random() < 0.5:
            connection = sqlite3.connect(path)
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            table = chance.choice([name for name in tables if not name.startswith("sqlite")])
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            value = chance.choice(["x", 10**30, -1, 0, None, b"\0", "1/0", "nan", 0.5, "9" * 5000])
            try:
                connection.execute(f"UPDATE {table} SET {chance.choice(names)} = ?", (value,))
                connection.commit()
            except (sqlite3.Error, OverflowError):
                pass
            connection.close()
        raw = path.read_bytes()
    return _damage(chance, raw) if chance.random() < 0.1 else raw


# -- commands --------------------------------------------------------------------------------------

MODEL_TEXTS = [
    "k-anonymity k=2", "l-diversity l=2 kind=entropy", "t-closeness t=nan", "beta-likeness beta=1",
    "delta-disclosure delta=1e-300", "recursive", "",
]  # fmt: skip


SET_OPTIONS = [
    "seed=3", "seed", "=", "columns.age.role=drop", "columns.age=1", "models=[]", "models.0.k=9", "method.name=\n[a]",
    "seed=1\nmethod.name='x'", "columns.'ill'.role=\"other\"", "[a]=1", "a.b.c.d=[[[[[[", "seed=" + "[" * 5000,
    "columns.age.hierarchy={ intervals = [0] }", "\0=1", "engine.threads=9" + "9" * 400, "source.path=-",
]  # fmt: skip


def _commands(chance: random.Random, source: str, output: str) -> tuple[tuple[str, ...], ...]:
    form = ("--json",) if chance.random() < 0.6 else ()
    ask = ("--ledger", "ledger", "--rho", chance.choice(["1/500", "0.002", "0", "x", "1e-400", "1/0"]))
    value = chance.choice(["flu", "", "x", "20", "1.0", "nan", "-0.0", "é", "9" * 40])
    part, upper = chance.choice(["0.1", "1", "0", "nan"]), chance.choice(["99", "1e400", "-5", "x"])
    pool = [
        ("plan", source, "-o", "drafted.toml"),
        ("minimal", "plan.toml"),
        ("check", source, "--plan", "plan.toml"),
        ("check", source, "-q", "age,place", "-s", "ill", "-m", chance.choice(MODEL_TEXTS)),
        ("attack", source, "--plan", "plan.toml", "--original", "good.csv"),
        ("attack", "good.csv", "-q", "age", "-s", "ill", "--external", source, "--fraction", part),
        ("compare", "good.csv", source, "--plan", "plan.toml", "--queries", "20"),
        ("release", "plan.toml", "--recoding", "kept.recoding", "--overwrite"),
        ("query", "count", source, *ask, "--where", f"ill={value}"),
        ("query", "sum", source, *ask, "--column", "age", "--lower", "0", "--upper", upper),
        ("query", "histogram", source, *ask, "--column", "ill", "--values", f"flu,{value}"),
        ("ledger", "show", "ledger"),
        ("release", source),
        ("ledger", "show", source),
    ]  # fmt: skip
    after = [
        ("check", output, "--plan", "plan.toml"),
        ("release", "plan.toml", "--overwrite", "--previous", "good.csv"),
        ("compare", "good.csv", output, "--plan", "plan.toml", "--queries", "20"),
        ("attack", output, "--plan", "plan.toml", "--original", "good.csv"),
    ]
    first = ("release", "plan.toml")
    if chance.random() < 0.1:
        first += ("--set", chance.choice(SET_OPTIONS))
    chosen = [first, *chance.sample(pool, 2), chance.choice(after)]
    return tuple((*command, *form) for command in chosen)
