"""Texts of the page about ledgers, noisy questions and grids.

English and German, as in :mod:`shoal.web.translations`.
"""

from __future__ import annotations

QUESTION_TEXTS: dict[str, tuple[str, str]] = {
    "step.questions": ("Questions", "Fragen"),
    "questions.about": (
        "In place of a table you can hand out single answers. Each gets random noise, and each spends a part of a budget, which a ledger records before the answer is computed.",
        "Statt einer Tabelle können Sie einzelne Antworten ausgeben. Jede bekommt zufälliges Rauschen, und jede verbraucht einen Teil eines Budgets; ein Kassenbuch hält das fest, bevor die Antwort berechnet wird.",
    ),
    "ledger": ("The ledger", "Das Kassenbuch"),
    "ledger.none": (
        "This table has no ledger yet. One table has one ledger: both numbers are fixed from then on.",
        "Diese Tabelle hat noch kein Kassenbuch. Eine Tabelle hat eines: Beide Zahlen sind dann fest.",
    ),
    "ledger.m": (
        "How many people could be the one in an unknown row?",
        "Wie viele Menschen kommen für eine unbekannte Zeile infrage?",
    ),
    "ledger.m.about": (
        "The people of the population who are not in the table, and one. A number that is too small is safe, one that is too large is not.",
        "Die Menschen der Bevölkerung, die nicht in der Tabelle sind, und einer. Eine zu kleine Zahl ist sicher, eine zu große nicht.",
    ),
    "ledger.k": ("In what crowd must everybody hide?", "In wie großer Menge muss sich jeder verbergen?"),
    "ledger.k.about": (
        "With 20, nobody who knows all other rows names the person in the last one with a probability above 1 in 20, whatever is asked.",
        "Bei 20 nennt niemand, der alle anderen Zeilen kennt, die Person der letzten mit einer Wahrscheinlichkeit über 1 zu 20, was auch gefragt wird.",
    ),
    "ledger.create": ("Create the ledger", "Kassenbuch anlegen"),
    "ledger.where": (
        "It is kept outside of all folders that pages read. No page can change or remove an entry.",
        "Es liegt außerhalb aller Ordner, die Seiten lesen. Keine Seite kann einen Eintrag ändern oder löschen.",
    ),
    "ledger.spent": (
        "{share} of the budget is spent, {left} is left.",
        "{share} des Budgets sind verbraucht, {left} sind übrig.",
    ),
    "ledger.empty": (
        "The budget is spent: this table must not be asked any more.",
        "Das Budget ist verbraucht: Diese Tabelle darf nicht mehr gefragt werden.",
    ),
    "ledger.rho": (
        "All answers and releases so far let nobody be named with a probability above {odds}, of {m} candidates; the limit is {limit}.",
        "Alle bisherigen Antworten und Veröffentlichungen lassen niemanden mit einer Wahrscheinlichkeit über {odds} nennen, bei {m} Kandidaten; die Grenze ist {limit}.",
    ),
    "ledger.odds": ("1 in {count}", "1 zu {count}"),
    "ledger.details": ("Where the ledger is, and its head", "Wo das Kassenbuch liegt, und sein Kopf"),
    "ledger.entries": ("What was booked", "Was gebucht wurde"),
    "ledger.number": ("Entry", "Eintrag"),
    "ledger.entry.query": ("question", "Frage"),
    "ledger.entry.choice": ("choice of levels", "Wahl der Stufen"),
    "ledger.entry.sampled release": ("release of a sample", "Veröffentlichung einer Stichprobe"),
    "ledger.entry.population release": ("release on a grid", "Veröffentlichung auf einem Raster"),
    "ledger.label": ("What", "Was"),
    "ledger.at": ("When", "Wann"),
    "ledger.after": ("Probability after it", "Wahrscheinlichkeit danach"),
    "ledger.answer": ("Answer, with noise", "Antwort, mit Rauschen"),
    "ledger.head": (
        "Head of the ledger. Note it elsewhere: with it, an old copy of the ledger can be told from the newest.",
        "Kopf des Kassenbuchs. Notieren Sie ihn anderswo: Damit lässt sich eine alte Kopie vom neuesten Stand unterscheiden.",
    ),
    "question": ("Ask a question", "Eine Frage stellen"),
    "question.kind": ("Kind of question", "Art der Frage"),
    "question.count": ("How many rows?", "Wie viele Zeilen?"),
    "question.sum": ("Sum of a column", "Summe einer Spalte"),
    "question.mean": ("Mean of a column", "Mittel einer Spalte"),
    "question.histogram": ("Rows of each value", "Zeilen je Wert"),
    "question.best-of": ("Most frequent value", "Häufigster Wert"),
    "question.column": ("Column", "Spalte"),
    "question.lower": ("Least value that counts", "Kleinster Wert, der zählt"),
    "question.upper": ("Largest value that counts", "Größter Wert, der zählt"),
    "question.step": ("Round values to multiples of", "Werte runden auf Vielfache von"),
    "question.values": ("Values to count, one per line", "Zu zählende Werte, je Zeile einer"),
    "question.declared": (
        "Say ranges, values and conditions from what you know beforehand, not from the table: they are not hidden by noise.",
        "Geben Sie Bereiche, Werte und Bedingungen nach Vorwissen an, nicht nach der Tabelle: Das Rauschen verbirgt sie nicht.",
    ),
    "question.where": ("Only rows where", "Nur Zeilen, in denen"),
    "question.where.column": ("Column of condition {number}", "Spalte der Bedingung {number}"),
    "question.where.value": ("Value of condition {number}; empty: missing", "Wert der Bedingung {number}; leer: fehlt"),
    "question.where.any": ("(no condition)", "(keine Bedingung)"),
    "question.person": ("Whose rows are they?", "Wessen Zeilen sind es?"),
    "question.person.rows": ("Every row is another person", "Jede Zeile ist eine andere Person"),
    "question.person.column": (
        "Rows with the same {column} are one person",
        "Zeilen mit gleichem {column} sind eine Person",
    ),
    "question.rows": ("Rows of each person that count, at most", "Zeilen je Person, die höchstens zählen"),
    "question.rho": ("What this answer may spend (ρ)", "Was diese Antwort verbrauchen darf (ρ)"),
    "question.rho.about": (
        "The highest probability with which this answer alone may let a person be named: a fraction or a number. More of it is less noise. With {rho}, a count is within {width} of the truth in 95 answers of 100.",
        "Die höchste Wahrscheinlichkeit, mit der diese Antwort allein eine Person nennen lässt: ein Bruch oder eine Zahl. Mehr davon ist weniger Rauschen. Mit {rho} liegt eine Anzahl in 95 von 100 Antworten höchstens {width} neben der Wahrheit.",
    ),
    "question.go": ("Book it and answer", "Buchen und antworten"),
    "question.answer": ("The answer", "Die Antwort"),
    "question.within": (
        "Within {width} of the truth in 95 answers of 100.",
        "In 95 von 100 Antworten höchstens {width} neben der Wahrheit.",
    ),
    "question.nothing": (
        "Nothing is answered that was not booked. What is refused is not booked.",
        "Nichts wird beantwortet, was nicht gebucht ist. Was abgelehnt wird, ist nicht gebucht.",
    ),
    "grid.needs": ("needs a ledger: create one under Questions", "braucht ein Kassenbuch: unter Fragen anlegen"),
    "grid.about": (
        "Every run of this method is booked in the ledger of the table, and spends its budget. Levels are fixed by you beforehand, not chosen by the data.",
        "Jeder Lauf dieses Verfahrens wird im Kassenbuch der Tabelle gebucht und verbraucht Budget. Die Stufen legen Sie vorher fest, nicht die Daten.",
    ),
    "grid.k": ("Crowd (k)", "Menge (k)"),
    "grid.universe": (
        "People of the population in every cell, at least",
        "Menschen der Bevölkerung in jeder Zelle, mindestens",
    ),
    "grid.beta": ("Part of the rows in the sample, such as 1/2", "Anteil der Zeilen in der Stichprobe, etwa 1/2"),
    "grid.bound": ("Factor by which odds may grow (E)", "Faktor, um den Chancen wachsen dürfen (E)"),
    "grid.rho": ("Probability (ρ) of the release", "Wahrscheinlichkeit (ρ) der Veröffentlichung"),
    "grid.level": ("Level of {column}", "Stufe von {column}"),
}
