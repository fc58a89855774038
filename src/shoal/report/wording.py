"""Plain sentences about methods, models and attacks for the report."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.formatting import number
from shoal.methods import METHODS
from shoal.models import MODELS
from shoal.render.html import prose, text
from shoal.results.release import cut_short_sentence, minimized_measure
from shoal.runtime.templates import fill_template
from shoal.table.method_facts import MethodFacts, SearchFacts

_METHODS = {
    "levels": "Each of these columns was made less exact to a degree chosen beforehand, the same for all rows.",
    "full-domain": "Each of these columns was made less exact to the same degree for all rows.",
    "top-down": "The columns were first hidden altogether and then made more exact again, step by step, where the "
    "conditions below stayed met.",
    "mondrian": "The rows were divided again and again into smaller groups of similar rows, where the conditions "
    "below stayed met; each group shows what its rows have in common.",
    "refine": "Similar rows were put together in groups, and rows then moved and exchanged between groups where less "
    "was lost; each group shows what its rows have in common.",
    "switching": "Values were made less exact where that was needed, row by row, rather than for the whole table.",
    "local-suppression": "Single values were hidden where they would make a row stand out.",
    "facts-suppression": "Each of these columns was made less exact to the same degree for all rows, and single rows "
    "of people whose rows together would set them apart were left out.",
    "hidden-cells": "Each of these columns was made less exact to the same degree for all rows, and single values were "
    "hidden where they would make a row stand out.",
    "mdav": "Similar rows were put together in small groups; all rows of a group show the same.",
    "cbfs": "Similar rows were put together in small groups; all rows of a group show the same.",
    "v-mdav": "Similar rows were put together in groups, small where rows lie close together and larger elsewhere; all "
    "rows of a group show the same.",
    "univariate": "The rows were put in order and cut into small groups where little is lost; all rows of a group show "
    "the same.",
    "k-first": "Similar rows were put together in groups, in larger and larger ones until each holds enough different "
    "sensitive values; all rows of a group show the same.",
    "p-first": "Similar rows of different sensitive values were put together in small groups; all rows of a group show "
    "the same.",
    "anti-unification": "The table was described by patterns: a pattern shows what its rows have in common and hides "
    "the rest.",
    "population-grid": "The columns were made less exact by a grid that was fixed without looking at these people.",
    "sampled-grid": "A random part of the rows was drawn, and its columns were made less exact by a grid that was "
    "fixed without looking at these people.",
    "auto": "Several methods were tried; of their results that meet the conditions below, the one that loses least was "
    "taken. A method that was not tried may lose less.",
}
_PRIVATE_CHOICE = (
    "A random part of the rows was drawn, and its columns were made less exact by a grid; how coarse it is was chosen "
    "by looking at these people, with noise that hides each of them."
)

ATTACKS = {
    "homogeneity": "Everyone in the group has the same value, so that it is known of each",
    "similarity": "All values of the group are equally sensitive, so that this is known of each",
    "inference": "Naming the most frequent value of the person's group is right",
    "background knowledge": "Someone who can rule out one value knows the right one",
    "background-knowledge": "Someone who can rule out one value knows the right one",
}

MEASURES = {
    "distortion_ratio": "levels that values went up, of all they could",
    "precision": "the same, averaged over columns",
    "ncp": "detail lost: how much of its column each published value covers",
    "discernibility": "sum over rows of the size of their group",
    "average_group_size": "rows per group",
    "sse_sst": "squared error of numbers, as part of their variance",
}


def method_sentence(method: Mapping[str, Any], facts: MethodFacts) -> str:
    """Describe in a sentence how groups were formed.

    An unknown method is described by its own documentation. For a search, the sentence says what is proven about it.
    """
    name = str(method["name"])
    if name == "auto" and method.get("chosen") in _METHODS:
        return f"{_METHODS[name]} {_METHODS[str(method['chosen'])]}"
    if method.get("parameters", {}).get("choose") == "private":
        return _PRIVATE_CHOICE
    if name in _METHODS:
        search = search_sentence(facts.get(SearchFacts), minimized_measure(method))
        return " ".join(filter(None, (_METHODS[name], search)))
    if name in METHODS:
        about = inspect.getdoc(METHODS[name]) or ""
        return prose(" ".join(about.split("\n\n")[0].split()), 400)
    return f"The method was {prose(name)}."


def search_sentence(search: SearchFacts | None, measure: str = "") -> str:
    """Describe how good the levels of a search are; empty without a search.

    ``measure`` is what the search minimized, where that is not ncp.
    """
    if search is None:
        return ""
    if search.optimal:
        measured = f", measured by {prose(measure)}" if measure else ""
        return (
            f"Of all degrees that the plan allows and that meet the conditions below, those that lose least were "
            f"taken{measured}."
        )
    return cut_short_sentence(search)


def join_names(names: Sequence[str], limit: int = 12) -> str:
    """Join column names: <bdi>a</bdi>, <bdi>b</bdi> and <bdi>c</bdi>."""
    names_as_html = [text(name, 60) for name in names[:limit]]
    if len(names) > limit:
        names_as_html.append(f"{len(names) - limit} more")
    return names_as_html[0] if len(names_as_html) == 1 else f"{', '.join(names_as_html[:-1])} and {names_as_html[-1]}"


def model_sentence(model: Mapping[str, Any], sensitive: Sequence[str], harmless: Sequence[str] = ()) -> str:
    """Describe the guarantee of a model in words.

    ``harmless`` are the sensitive columns with harmless values.
    """
    given = model["parameters"]
    value = {key: _value_text(item) for key, item in given.items()}
    about = (
        text(given["column"], 60) if "column" in given else join_names(sensitive) if sensitive else "sensitive columns"
    )
    if model["name"] == "pattern-support":
        template = "Every published pattern describes at least {k} rows."
    elif model["name"] in MODELS:
        template = MODELS[model["name"]].sentence(given)
        if model.get("counts") == "people":
            template = MODELS[model["name"]].people_summary_template or template
            template += " Each person counts once, with all that is known of him or her."
    else:
        pairs = ", ".join(f"{prose(key)} = {item_text}" for key, item_text in value.items())
        return f"The condition {prose(model['name'])} holds in every group ({pairs})."
    spared = [name for name in harmless if given.get("column", name) == name]
    if spared and model["name"] in MODELS and not MODELS[model["name"]].sizes_only:
        template += f" {MODELS[model['name']].harmless_template}"
    # column names are in the parts and in the clause, never in a template
    names = {"column": about, "harmless": join_names(spared) if spared else ""}
    return fill_template(template, {**value, **names}) + partial_knowledge_clause(given)


def partial_knowledge_clause(given: Mapping[str, Any]) -> str:
    """Describe the intruder of a model of partial knowledge or a scenario.

    Empty for a model that binds all columns at once.
    """
    if "scenario" in given:
        return scenario_clause(given)
    if "known" in given:
        known = _value_text(given["known"])
        some = "any one" if given["known"] == 1 else f"any {known}"
        attacker = (
            f"whoever knows at most {known} of these columns of a person; a group is what shows the same in {some}"
        )
    elif "keys" in given:
        attacker = (
            f"whoever knows of a person no more than {join_names(given['keys'])}; a group is what shows the same in any"
        )
    else:
        return ""
    strict = given.get("reading") == "strict"
    reading = ", a hidden value being a label like any other" if strict else ""
    return f" This holds for {attacker} of them{reading}. Of all columns at once it is not promised."


def scenario_clause(given: Mapping[str, Any]) -> str:
    """Describe the intruder of a scenario."""
    plus = int(given.get("plus", 0))
    further = "" if not plus else "any one further column" if plus == 1 else f"any {plus} further columns"
    known = " and ".join(filter(None, (join_names(given["columns"]) if given["columns"] else "", further)))
    return (
        f" This holds for whoever knows {known} of everybody in the table (scenario {text(given['scenario'], 60)}); a "
        f"group is what shows the same there, a hidden value being a label like any other."
    )


def _value_text(value: Any) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else prose(value, 60)
