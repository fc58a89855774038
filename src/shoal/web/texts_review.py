"""Texts of the page about recipients, reviews and exposure.

English and German, as in :mod:`shoal.web.translations`.
"""

from __future__ import annotations

REVIEW_TEXTS: dict[str, tuple[str, str]] = {
    "recipient": ("Who receives the table?", "Wer bekommt die Tabelle?"),
    "recipient.about": (
        "The answer decides how many people must look alike. You can change it later.",
        "Danach richtet sich, wie viele Menschen gleich aussehen müssen. Sie können es später ändern.",
    ),
    "recipient.public": ("The public", "Die Öffentlichkeit"),
    "recipient.public.about": (
        "Anybody can read it and compare it with other lists. Everybody must hide among at least {k}; among {health} if the table is about health.",
        "Jeder kann sie lesen und mit anderen Listen vergleichen. Zu jeder Person müssen mindestens {k} Datensätze passen; {health}, wenn es um Gesundheit geht.",
    ),
    "recipient.researchers": ("Researchers", "Forschende"),
    "recipient.researchers.about": (
        "They work with it at an institution, under its rules. Everybody must hide among at least {k}.",
        "Sie arbeiten damit an einer Einrichtung, nach deren Regeln. Zu jeder Person müssen mindestens {k} Datensätze passen.",
    ),
    "recipient.colleagues": ("Colleagues", "Kolleginnen und Kollegen"),
    "recipient.colleagues.about": (
        "They know the people in the table, and so know most about them. Everybody must hide among at least {k}; among {signed} if they have signed.",
        "Sie kennen die Menschen in der Tabelle und wissen deshalb am meisten. Zu jeder Person müssen mindestens {k} Datensätze passen; {signed}, wenn sie unterschrieben haben.",
    ),
    "recipient.signed": (
        "They have signed to identify nobody and to pass nothing on",
        "Sie haben unterschrieben, niemanden zu bestimmen und nichts weiterzugeben",
    ),
    "recipient.go": ("Draft a plan", "Plan entwerfen"),
    "recipient.missing": ("The plan does not say it yet.", "Der Plan sagt es noch nicht."),
    "recipient.enough": (
        "Usual for this recipient is at least {usual}; the plan asks for {k}.",
        "Üblich sind dafür mindestens {usual}; der Plan verlangt {k}.",
    ),
    "recipient.low": (
        "Usual for this recipient is at least {usual}; the plan asks for {k} only. A larger group protects better and loses more detail.",
        "Üblich sind dafür mindestens {usual}; der Plan verlangt nur {k}. Eine größere Gruppe schützt besser und verliert mehr Genauigkeit.",
    ),
    "recipient.raise": ("Ask for {usual}", "{usual} verlangen"),
}
