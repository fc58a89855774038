"""First plan from a profile: TOML with a reason for every choice.

The plan runs unchanged. It contains columns, kinds and counts, and of values only a yes, a no, and what at least half
of the rows have. Its models can always be
satisfied, since every hierarchy ends in `*` and a share of the rows may be suppressed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from shoal.advice.column_tiers import Tier
from shoal.advice.profile import Profile
from shoal.advice.suggest_role import MAX_SHARE_IN_GROUP, ColumnProfile, declared_harmless
from shoal.advice.try_methods import MAX_LATTICE_NODES, MethodTrial, least_loss
from shoal.errors import PlanError, TableError
from shoal.formatting import counted, fixed, number, percent
from shoal.io.formats.urls import address_of
from shoal.methods import FullDomain, Method, Mondrian, Refine
from shoal.plan.review import Recipient
from shoal.schema import Role

DEFAULT_K = 5
HEALTH_TOPICS = {
    "health",
    "illness",
    "drug",
    "codes of illnesses (ICD)",
    "codes of medicines (ATC)",
    "codes of operations (OPS)",
    "genotypes",
}
SUPPRESSION = 0.05
HIGH_LOSS = 0.5
MAX_ALTERNATIVE = 200
"""Characters of an alternative in a comment."""


def draft_plan(
    profile: Profile,
    source: Path | None,
    folder: Path,
    *,
    k: int | None = None,
    tried: Sequence[MethodTrial] = (),
    recipient: Recipient | None = None,
) -> str:
    """Write the text of a plan for a table.

    Parameters
    ----------
    source
        Path of the table; the plan states it relative to ``folder``, the folder of the plan file. None if the table is
        in memory: the plan then has no source and no output.
    k
        The minimum group size; by default 5, or less in a table of fewer than 20 rows.
    tried
        Methods that were run on a sample; the plan uses the one of least loss, and lists the others.
    recipient
        Who receives the release; the size of groups follows from it, unless ``k`` is given.
    """
    if profile.rows < 2:
        raise TableError("table.one-row")
    if k is not None and not 2 <= k <= profile.rows:
        raise PlanError("models.k-out-of-range", rows=profile.rows, found=k)
    health = any(c.topic in HEALTH_TOPICS for c in profile.columns if c.role is Role.SENSITIVE)
    usual = DEFAULT_K if recipient is None else recipient.group_size(health=health)
    k = k or max(2, min(usual, profile.rows // 4))
    lines = [
        f"# A first plan for a table of {number(profile.rows)} rows, made by looking at its columns.",
        "# It runs as it is, but it is a draft: only people who know the data can tell which facts others may know",
        "# (quasi-identifiers), which nobody should learn (sensitive), and which are harmless (other).",
        *_not_covered(profile),
    ]
    if source is not None:
        lines += ["", *_source(profile, source, folder)]
    elif profile.missing:
        lines.append(f"# Taken for missing values: {counted(len(profile.missing), 'kind')} of text.")
    lines += ["", *_singling_out(profile)]
    for column in profile.columns:
        lines += ["", *_column(column, profile.rows)]
    lines += ["", *_models(profile, k), "", *_method(profile, tried)]
    if source is not None:
        lines += ["", "[output]", f"path = {_string(f'{_stem(source)}-released.csv')}"]
    if recipient is not None:
        signed = ["signed = true"] if recipient.signed else []
        lines += ["", "[recipient]", f'kind = "{recipient.kind}"', *signed]
    if source is not None:
        lines += ["", "[review]", 'status = "draft"   # `shoal review` goes through it, and records who has read it']
    return "\n".join([*lines, ""])


def _not_covered(profile: Profile) -> list[str]:
    """Describe what the plan promises, and what it does not."""
    unknown = [c for c in profile.columns if c.role is Role.QUASI_IDENTIFIER and c.tier == Tier.UNKNOWN]
    lines = [
        "# Everybody is hidden in all quasi-identifiers together: what strangers, employers and registers may know."
    ]
    if unknown:
        lines.append(
            f"# Among them {counted(len(unknown), 'column')} not understood: say what they are, for they cost detail."
        )
    if profile.named(Role.OTHER):
        lines.append(
            "# Columns of role other are published as they are: harmless, and known to those close to a person alone."
        )
    if profile.named(Role.SENSITIVE):
        lines += ["# Sensitive columns are published as they are: the plan takes it that nobody knows them beforehand."]
    return lines


def _source(profile: Profile, source: Path, folder: Path) -> list[str]:
    form = profile.source
    lines = ["[source]", f"path = {_string(_relative(source, folder))}"]
    if profile.time_zone != Profile.time_zone:
        lines.append(f"time_zone = {_string(profile.time_zone)}")
    for key in ("delimiter", "quote", "header", "encoding"):
        if getattr(form, key) is not None:
            lines.append(f"{key} = {_value(getattr(form, key))}{_encoding_comment(key, form.encoding)}")
    if form.rename:
        lines.append("rename = true   # columns share a name: the later ones are numbered (name, name_2, ...)")
    if form.trim:
        lines.append("trim = true   # cells have blanks around them, which are dropped")
    if form.decimal is not None:
        lines.append(f"decimal = {_value(form.decimal)}   # numbers are written like 1{form.decimal}5")
    if form.thousands is not None:
        lines.append(f"thousands = {_value(form.thousands)}   # numbers are written like 1{form.thousands}234")
    if profile.missing:
        lines.append(f"missing = {_value(list(profile.missing))}   # found, and taken for missing values")
    return lines


def _encoding_comment(key: str, encoding: str | None) -> str:
    return (
        "   # the file is not UTF-8: look at letters with accents"
        if key == "encoding" and encoding in ("latin-1", "cp1252")
        else ""
    )


def _models(profile: Profile, k: int) -> list[str]:
    people = bool(profile.named(Role.PERSON))
    lines = [
        "[[models]]",
        'name = "k-anonymity"',
        f"k = {k}   # every row looks like at least {k - 1} other{'s' if k > 2 else ''} in the quasi-identifiers",
    ]
    if people:
        lines[-1] = f"k = {k}   # rows that look alike in the quasi-identifiers are of at least {k} people"
    for column in profile.columns:
        if column.role is not Role.SENSITIVE or not column.diversity:
            continue
        lines += ["", "[[models]]", f'name = "{column.diversity}"']
        if column.diversity == "l-diversity":
            lines.append("l = 2   # no group may share one sensitive value; see also p-alpha-sensitive and t-closeness")
        elif column.diversity == "p-sensitive":
            lines.append("p = 2   # no group may share one value, unless it is harmless")
        elif column.diversity == "alpha-k":
            lines += [f"alpha = {MAX_SHARE_IN_GROUP}   # the largest part of a group with the same value", f"k = {k}"]
        else:
            least = min(column.least_no, k - 1)
            lines += [
                f"alpha = {least}   # so many in every group say no, at least; that nobody says yes is no harm",
                "p = 1",
            ]
        lines.append(f"column = {_string(column.name)}")
    return lines


def _method(profile: Profile, tried: Sequence[MethodTrial]) -> list[str]:
    """Write the method of least loss, and the losses of the others.

    Full-domain recoding if no method was tried.
    """
    best = least_loss(tried)
    lines = _alternatives(profile)
    if best is not None and best.loss is not None:
        rows = "all" if best.rows == profile.rows else f"a sample of {number(best.rows)}"
        lines.append(f"# Tried on {rows} rows; the part of the detail that was lost (ncp; 0 none, 1 all):")
        for trial in sorted(tried, key=lambda trial: (trial.loss is None, trial.loss)):
            lost = "no release" if trial.loss is None else fixed(trial.loss, 2)
            smaller = f" (on {number(trial.rows)} rows)" if trial.rows != best.rows else ""
            lines.append(f"#   {trial.method.name}: {lost}{smaller}")
        if best.loss > HIGH_LOSS:
            lines += [
                "# More than half is lost: with so many quasi-identifiers few people are alike. Fewer of them",
                "# (role drop), or a smaller k, would help: `shoal explain` tells what each costs.",
            ]
    usual: Method = FullDomain() if lattice_nodes(profile) <= MAX_LATTICE_NODES else Mondrian()
    method = usual if best is None else best.method
    lines += ["[method]", f'name = "{method.name}"   # `shoal explore` compares it with others']
    if weights := {c.name: c.weight for c in profile.columns if c.weight < 1 and c.role is Role.QUASI_IDENTIFIER}:
        lines += [
            "# So many visible columns cannot all keep their detail: these give way to the others.",
            f"weights = {_inline({_key(name): weight for name, weight in weights.items()})}",
        ]
        if isinstance(method, Refine):
            lines.append('start = { name = "mondrian" }')
    if isinstance(method, FullDomain):
        lines.append(f"suppression = {SUPPRESSION}   # the largest part of the rows that may be left out")
    return lines


def _alternatives(profile: Profile) -> list[str]:
    """Write the drafts that were tried in turn, with their figures."""
    if len(profile.alternatives) < 2:
        return []
    lines = [
        "# Tried in turn on a sample: detail lost (ncp; 0 none, 1 all), and rows with a nearly sure sensitive value.",
        "# A line that says no was left out of this plan; change roles and models to choose otherwise.",
    ]
    for one in profile.alternatives:
        taken = "" if one.taken else "; no"
        figures = f"{fixed(one.loss, 2)}, {percent(one.disclosed)}{taken}"
        lines.append(f"#   {_comment(one.change, MAX_ALTERNATIVE)}: {figures}")
    return [*lines, ""]


def _relative(source: Path, folder: Path) -> str:
    if (address := address_of(source)) is not None:
        return address
    try:
        return Path(os.path.relpath(source.absolute(), folder.absolute())).as_posix()
    except ValueError:  # another drive
        return source.absolute().as_posix()


def _stem(source: Path) -> str:
    return source.stem or "table"


def lattice_nodes(profile: Profile) -> int:
    """Return the number of full-domain recodings of the quasi-identifiers."""
    heights = [_height(column) for column in profile.columns if column.role is Role.QUASI_IDENTIFIER]
    return math.prod(height + 1 for height in heights)


def _height(column: ColumnProfile) -> int:
    hierarchy = column.hierarchy or {}
    levels = [value["fanout"] if isinstance(value, Mapping) else value for value in hierarchy.values()]
    return 1 + max((len(value) for value in levels if isinstance(value, list)), default=0)


def _singling_out(profile: Profile) -> list[str]:
    share = percent(profile.unique / profile.rows)
    lines = [f"# {share} of the rows are alone in all quasi-identifiers together."]
    identifying = [pair for pair in profile.pairs if pair.unique][:3]
    if identifying:
        lines.append("# Pairs that single out most:")
        for pair in identifying:
            names = " with ".join(_comment(name) for name in pair.columns)
            lines.append(f"#   {names}: {percent(pair.unique / profile.rows)} of the rows are alone in it")
    return lines


def _column(column: ColumnProfile, rows: int) -> list[str]:
    values = f"{number(column.distinct)} different {column.kind}{'s' if column.distinct != 1 else ''}"
    if column.kind in ("empty", "text"):
        values = f"{number(column.distinct)} different value{'s' if column.distinct != 1 else ''}"
    found = [values]
    if column.missing:
        found.append(f"missing in {percent(column.missing / rows)}")
    if column.unique:
        found.append(f"{percent(column.unique / rows)} of the rows have a value of their own")
    lines = [f"[columns.{_key(column.name)}]   # {'; '.join(found)}", f'role = "{column.role}"   # {column.reason}']
    if column.role is Role.IDENTIFIER:
        lines[-1] += "; dropped"
    lines += [f"# The source says: {column.label}"] if column.label else []
    lines += [f"# {note}" for note in column.notes]
    coarse = column.role is Role.SENSITIVE and "intervals" in (column.hierarchy or ())
    if column.hierarchy and (coarse or column.role is Role.QUASI_IDENTIFIER):
        lines.append(f"hierarchy = {_inline(column.hierarchy)}   # {column.how}")
    if coarse:
        lines.append("levels = 1   # the first intervals in place of the numbers")
    if harmless := declared_harmless(column):
        why = "most rows have it" if column.marks is None else "a no"
        lines.append(f"harmless = {_value(list(harmless))}   # harms nobody: {why}")
    if column.diversity == "p-alpha-sensitive" and column.marks is not None:
        yes, no = map(_string, column.marks)
        lines.append(f"categories = [[{yes}], [{no}]]   # the sensitive answer first")
    if column.role is Role.SENSITIVE and column.why_not:
        lines.append(f"# No diversity is asked: {column.why_not}.")
    return lines


def _inline(table: Mapping[str, Any]) -> str:
    return "{ " + ", ".join(f"{key} = {_value(value)}" for key, value in table.items()) + " }"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return _inline(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return _escape_invisible(tomli_w.dumps({"x": value}).removeprefix("x = ").rstrip("\n"))


def _string(text: str) -> str:
    return _value(text)


def _key(name: str) -> str:
    return _escape_invisible(tomli_w.dumps({name: 1}).removesuffix(" = 1\n"))


def _escape_invisible(quoted: str) -> str:
    """Escape invisible characters and direction overrides as in TOML."""
    return "".join(character if character.isprintable() else f"\\U{ord(character):08x}" for character in quoted)


def _comment(name: str, longest: int = 60) -> str:
    """Format a name for a comment, which must not break the line."""
    shortened = name if len(name) <= longest else name[: longest - 1] + "…"
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in shortened)
