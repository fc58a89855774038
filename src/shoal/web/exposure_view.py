"""View model of the exposure of a release.

The figures are the owner's, and are not published; :mod:`shoal.risk.exposure` defines them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from shoal.formatting import localized, number, percent
from shoal.web.translations import translate


def exposure_of(facts: Mapping[str, Any] | None, language: str) -> dict[str, Any] | None:
    """Return sentence, bars and advice about exposed rows, or None.

    ``block`` protects all columns at once; it is given if the plan covers less and too many rows are exposed.
    """
    from shoal.risk.exposure import MAX_EXPOSED_SHARE, SMALL_CROWD

    figures = (facts or {}).get("exposure")
    if not figures or not figures.get("rows"):
        return None
    counted = "people" if "people" in figures else "rows"
    rows, key = figures[counted], f"below_{SMALL_CROWD}"
    unit = translate(f"unit.{counted}", language)
    count = {"count": len(figures["columns"]), "small": SMALL_CROWD, "unit": unit}
    bars = [
        {"columns": one["columns"], "alone": one["alone"], "below": one[key], "rows": rows, "all": one is figures}
        for one in (*figures.get("facts", ()), figures)
    ]
    sentence = translate("exposure.none", language, **count)
    if figures[key]:
        counts = {"exposed": figures[key], "rows": rows, "alone": figures["alone"]}
        written = {name: localized(number(value), language) for name, value in counts.items()}
        part = localized(percent(figures[key] / rows), language)
        sentence = translate("exposure.some", language, part=part, **count, **written)
    too_much = figures[key] > MAX_EXPOSED_SHARE * rows
    block = {"columns": list(figures["columns"]), "k": SMALL_CROWD} if too_much and is_partial(facts or {}) else None
    return {
        "sentence": sentence,
        "bars": bars,
        "small": SMALL_CROWD,
        "bad": too_much,
        "block": block,
        "changes": json.dumps([{"set": ["keys", "+"], "value": block}]),
    }


def is_partial(facts: Mapping[str, Any]) -> bool:
    """Return whether every model is about a part of the columns only."""
    if "intruder" in facts:
        return True
    models = [model.get("parameters", {}) for model in facts.get("models", ())]
    return bool(models) and all("known" in parameters or "keys" in parameters for parameters in models)
