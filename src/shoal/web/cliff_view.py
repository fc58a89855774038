"""View model of people that are found by a number of known facts.

The figures are the owner's; :mod:`shoal.audit.known_facts` defines them.
"""

from __future__ import annotations

from typing import Any

from shoal.formatting import localized, number, percent
from shoal.web.pictures import draw_cliff
from shoal.web.projects import Project
from shoal.web.translations import translate

TRIED_FACTS = 3


def cliff_of(project: Project, release: int, language: str) -> dict[str, Any]:
    """Return picture, sentence and table of found people, and the last try.

    ``release`` is 0 for the original alone. ``start`` is the run to ask for if nothing is known yet.
    """
    key = f"cliff {release}"
    run = project.latest.get(key)
    stale = release == 0 and project.plan_digests.get(key) not in (project.digest, None)
    found = None if run is None or stale else run.result
    start: dict[str, Any] = {"action": "cliff", **({"release": release} if release else {})}
    view: dict[str, Any] = {"start": None if run is not None and not stale else start, "release": release, "sets": ()}
    if not found or not found["sets"]:
        return view
    sets = found["sets"]
    words = [translate("cliff.facts", language, count=len(one["columns"])) for one in sets]
    if len(sets) > 1 and len(sets[-1]["columns"]) > len(sets) - 1:
        words[-1] = translate("cliff.all", language, count=len(sets[-1]["columns"]))

    def share(part: float) -> str:
        return localized(percent(part), language)

    three = sets[min(2, len(sets) - 1)]
    parts = {"columns": ", ".join(three["columns"]), "before": share(three["before"]["below"]), "small": found["small"]}
    sentence = translate("cliff.before", language, **parts)
    if "after" in three:
        sentence += " " + translate("cliff.after", language, after=share(three["after"]["below"]))
    sampled = found["sampled"]
    counted = localized(number(sampled), language) if sampled and sampled < found["rows"] else None
    tried = project.latest.get(f"find {release}")
    return view | {
        "sets": [{**one, "words": word} for one, word in zip(sets, words, strict=True)],
        "sentence": sentence,
        "picture": draw_cliff(sets, translate("cliff", language), words),
        "small": found["small"],
        "sampled": counted,
        "offered": found["offered"] if release else {},
        "tries": range(min(TRIED_FACTS, len(found["offered"]))),
        "tried": None if tried is None else tried.result,
        "tried_error": None if tried is None or tried.state != "failed" else tried.error,
    }
