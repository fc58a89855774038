"""All texts of the page in English and German.

Sentences of errors, reasons and reports are written in English elsewhere in shoal. :data:`SENTENCES` has the German of
the most common ones; for any other error, the German page says that the message is in English.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from shoal.errors import LANGUAGES, ShoalError
from shoal.runtime.templates import fill_template
from shoal.web.texts_questions import QUESTION_TEXTS
from shoal.web.texts_review import REVIEW_TEXTS

STEP_GROUPS = (
    ("check", ("table", "columns", "hierarchies")),
    ("require", ("promise", "review")),
    ("anonymize", ("run", "explore")),
    ("download", ("compare", "attack", "publish")),
    ("answers", ("questions",)),
)
"""The steps under the headings of the page."""
STEPS = tuple(step for _, members in STEP_GROUPS for step in members)

TEXTS: dict[str, tuple[str, str]] = {
    "skip": ("Skip to the content", "Zum Inhalt"),
    "steps": ("Steps", "Schritte"),
    "step.table": ("Table", "Tabelle"),
    "step.columns": ("Columns", "Spalten"),
    "step.hierarchies": ("Hierarchies", "Hierarchien"),
    "step.promise": (
        "Requirements",
        "Anforderungen",
    ),
    "step.run": (
        "Anonymize",
        "Anonymisieren",
    ),
    "step.explore": (
        "Compare methods",
        "Verfahren vergleichen",
    ),
    "step.compare": (
        "Before and after",
        "Vorher und nachher",
    ),
    "step.attack": (
        "Risk check",
        "Risikoprüfung",
    ),
    "step.publish": (
        "Download",
        "Herunterladen",
    ),
    "mark.done": ("done", "erledigt"),
    "mark.open": ("open", "offen"),
    "mark.warning": ("needs attention", "braucht Aufmerksamkeit"),
    "plan": ("The plan", "Der Plan"),
    "plan.about": (
        "What you click is written here, and what you write here is shown. `shoal release plan.toml` does the same.",
        "Was Sie anklicken, steht hier, und was Sie hier schreiben, wird gezeigt. `shoal release plan.toml` tut dasselbe.",
    ),
    "plan.save": ("Use this text", "Diesen Text verwenden"),
    "start": (
        "From a table about people to one that can be published",
        "Von einer Tabelle über Menschen zu einer, die veröffentlicht werden kann",
    ),
    "start.about": (
        "Everything happens on this machine. Choose a table; shoal looks at its columns and drafts a plan that you can change.",
        "Alles geschieht auf diesem Rechner. Wählen Sie eine Tabelle; shoal sieht sich die Spalten an und entwirft einen Plan, den Sie ändern können.",
    ),
    "start.file": ("A file on this machine", "Eine Datei auf diesem Rechner"),
    "start.file.about": (
        "It is read where it is, however large it is.",
        "Sie wird gelesen, wo sie liegt, wie groß sie auch ist.",
    ),
    "start.up": ("Up", "Hinauf"),
    "start.way": (
        "Four steps: check the columns, set requirements, anonymize, check and download. You can go back at any time, and nothing is published before it was verified.",
        "Vier Schritte: Spalten prüfen, Anforderungen festlegen, anonymisieren, prüfen und herunterladen. Sie können jederzeit zurück, und nichts wird veröffentlicht, bevor es geprüft ist.",
    ),
    "start.empty": (
        "No table or folder here. Upload one, or start shoal serve in the folder of your tables.",
        "Hier ist keine Tabelle und kein Ordner. Laden Sie eine hoch, oder starten Sie shoal serve im Ordner Ihrer Tabellen.",
    ),
    "start.upload": ("Upload", "Hochladen"),
    "start.upload.about": (
        "It is kept in the project's folder, private to you.",
        "Sie bleibt im Ordner des Projekts und ist nur für Sie lesbar.",
    ),
    "start.upload.field": (
        "A table: CSV (also .gz, .zst), Excel, SPSS, Stata, SAS or Parquet",
        "Eine Tabelle: CSV (auch .gz, .zst), Excel, SPSS, Stata, SAS oder Parquet",
    ),
    "start.paste": ("Paste", "Einfügen"),
    "start.paste.field": (
        "Rows with commas, semicolons or tabs; the first names the columns",
        "Zeilen mit Komma, Strichpunkt oder Tabulator; die erste benennt die Spalten",
    ),
    "start.paste.go": ("Use these rows", "Diese Zeilen verwenden"),
    "start.samples": (
        "Try it",
        "Ausprobieren",
    ),
    "start.patients": (
        "Demo: 12 patients",
        "Beispiel: 12 Patienten",
    ),
    "start.census": (
        "Demo: 5,000 invented people, as in a census",
        "Beispiel: 5.000 erfundene Menschen wie in einer Volkszählung",
    ),
    "start.projects": ("Go on with", "Weiter mit"),
    "state.drafting": (
        "shoal is looking at the table and drafts a plan.",
        "shoal sieht sich die Tabelle an und entwirft einen Plan.",
    ),
    "state.draft_failed": ("The table cannot be used: {why}", "Die Tabelle ist nicht brauchbar: {why}"),
    "state.error": ("The plan cannot run yet: {why}", "Der Plan kann noch nicht laufen: {why}"),
    "state.checking": (
        "Counting the rows that can be told apart …",
        "Zähle die Zeilen, die sich unterscheiden lassen …",
    ),
    "state.failing": (
        "Your original table: {failing} of {rows} rows ({part}) do not meet the requirements.",
        "Im Original sind {failing} von {rows} Zeilen ({part}) nicht ausreichend geschützt.",
    ),
    "state.holds": (
        "Your original table: all {rows} rows meet the requirements.",
        "Im Original erfüllen alle {rows} Zeilen die Anforderungen.",
    ),
    "state.infeasible": (
        "The requirements cannot be met with what is chosen: {why}",
        "Mit dem Gewählten sind die Anforderungen nicht zu erfüllen: {why}",
    ),
    "state.rehearsed": (
        "With this plan {released} rows can be published, in {groups} groups of rows that cannot be told apart; {lost} of the information is lost.",
        "Mit diesem Plan lassen sich {released} Zeilen veröffentlichen, in {groups} Gruppen nicht unterscheidbarer Zeilen; {lost} der Information gehen verloren.",
    ),
    "state.next": (
        "Next: {step}",
        "Weiter: {step}",
    ),
    "working": ("Working: {step}", "In Arbeit: {step}"),
    "working.begins": ("it begins", "es beginnt"),
    "working.bar": ("How far it is", "Wie weit es ist"),
    "answered": (
        "The server answered {status}: load the page again.",
        "Der Server antwortete {status}: Laden Sie die Seite neu.",
    ),
    "answered.link": (
        "The server does not know you (any more): open the link that it has printed.",
        "Der Server kennt Sie nicht (mehr): Öffnen Sie den Link, den er ausgegeben hat.",
    ),
    "cancel": ("Cancel", "Abbrechen"),
    "error.english": ("{text}", "shoal meldet auf Englisch: {text}"),
    "failed": (
        "It could not be finished.",
        "Fehlgeschlagen.",
    ),
    "table.about": ("The first rows, as shoal reads them.", "Die ersten Zeilen, wie shoal sie liest."),
    "table.mask": ("Hide the cells", "Zellen verbergen"),
    "table.rows": ("{rows} rows, {columns} columns", "{rows} Zeilen, {columns} Spalten"),
    "table.unique": (
        "{unique} rows are unique in the columns that an intruder could know.",
        "{unique} Zeilen sind einmalig in den Spalten, die ein Angreifer kennen könnte.",
    ),
    "table.other": ("Choose another table", "Eine andere Tabelle wählen"),
    "columns.about": (
        "Check what each column contains. The riskiest columns come first. (Keyboard: focus a row and press a letter.)",
        "Prüfen Sie, was jede Spalte enthält. Die riskantesten stehen oben. (Tastatur: Zeile auswählen, Buchstaben drücken.)",
    ),
    "columns.name": ("Column", "Spalte"),
    "columns.role": ("Role", "Rolle"),
    "columns.shape": ("Values", "Werte"),
    "columns.alone": (
        "Unique",
        "Einmalig",
    ),
    "columns.alone.about": (
        "share of rows that this column alone points to; with the best second column",
        "Anteil der Zeilen, auf die diese Spalte allein zeigt; mit der besten zweiten Spalte",
    ),
    "columns.with": (
        "{share} with {other}",
        "{share} mit {other}",
    ),
    "columns.distinct": ("{count} different", "{count} verschiedene"),
    "columns.missing": ("{count} missing", "{count} fehlen"),
    "columns.spellings": ("{count} spellings look like another one", "{count} Schreibweisen gleichen einer anderen"),
    "columns.repeats": (
        "The key repeats: some people may have several rows.",
        "Der Schlüssel wiederholt sich: Manche haben wohl mehrere Zeilen.",
    ),
    "columns.suggested": ("suggested: {role}", "Vorschlag: {role}"),
    "columns.pseudonym": (
        "Publish a pseudonym in its place (made with a secret key, which stays here)",
        "Stattdessen ein Pseudonym veröffentlichen (mit einem geheimen Schlüssel, der hier bleibt)",
    ),
    "columns.pseudonym.linked": (
        "Publish a pseudonym in its place, by which rows that belong together can be told (needs the requirement about several rows)",
        "Stattdessen ein Pseudonym veröffentlichen, an dem man zusammengehörige Zeilen erkennt (braucht die Anforderung über mehrere Zeilen)",
    ),
    "columns.dates": (
        "Dates",
        "Datumsangaben",
    ),
    "columns.dates.exact": ("as they are", "wie sie sind"),
    "columns.dates.shift": (
        "shifted, all dates of a person by the same random number of days",
        "verschoben, alle Daten einer Person um gleich viele zufällige Tage",
    ),
    "columns.dates.first": (
        "days since the person's first date",
        "Tage seit dem ersten Datum der Person",
    ),
    "columns.days": ("at most, days", "höchstens, Tage"),
    "role.identifier": (
        "Identifier",
        "Identifiziert",
    ),
    "role.quasi-identifier": (
        "Could be known",
        "Könnte bekannt sein",
    ),
    "role.sensitive": (
        "Sensitive",
        "Sensibel",
    ),
    "role.other": (
        "Publish as is",
        "Unverändert",
    ),
    "role.drop": (
        "Remove",
        "Entfernen",
    ),
    "role.person": (
        "Person ID",
        "Personen-ID",
    ),
    "role.household": (
        "Household ID",
        "Haushalts-ID",
    ),
    "role.weight": ("A weight", "Ein Gewicht"),
    "role.items": ("A set of items", "Eine Menge von Dingen"),
    "hierarchies.about": (
        "How a value becomes less exact: on the left the value, then step by step less, at last nothing (*).",
        "Wie ein Wert ungenauer wird: links der Wert, dann schrittweise weniger, zuletzt nichts (*).",
    ),
    "hierarchies.none": (
        "No column could be known to others; choose one under Columns.",
        "Keine Spalte könnte anderen bekannt sein; wählen Sie eine unter Spalten.",
    ),
    "hierarchies.kind": ("Kind", "Art"),
    "hierarchies.text": ("As text", "Als Text"),
    "hierarchies.use": ("Use it", "Verwenden"),
    "hierarchies.undo": ("Undo", "Rückgängig"),
    "hierarchies.level": ("Level {level}", "Stufe {level}"),
    "hierarchies.labels": (
        "Categories: {count}",
        "Kategorien: {count}",
    ),
    "hierarchies.small": (
        "Rows in categories of fewer than {least}: {rows}",
        "Zeilen in Kategorien mit weniger als {least} Zeilen: {rows}",
    ),
    "hierarchies.preview": (
        "Each level on the column's own values, with rows",
        "Jede Stufe an den eigenen Werten der Spalte, mit Zeilen",
    ),
    "hierarchies.more": ("and {count} more", "und {count} weitere"),
    "hierarchies.missing": ("missing", "fehlt"),
    "kind.flat": ("Shown or hidden", "Gezeigt oder verborgen"),
    "kind.intervals": ("Intervals: widths, such as 5, 10, 20", "Intervalle: Breiten, etwa 5, 10, 20"),
    "kind.cuts": ("Cuts: a line of numbers for each level", "Schnitte: je Stufe eine Zeile mit Zahlen"),
    "kind.dates": (
        "Dates: such as month, quarter, year, decade; format after a semicolon",
        "Datumsangaben: etwa month, quarter, year, decade; Format nach Strichpunkt",
    ),
    "kind.prefix": (
        "Codes lose their last characters; lengths to keep, or empty",
        "Codes verlieren ihre letzten Zeichen; Längen, oder leer",
    ),
    "kind.order": (
        "Words in order: one per line, then fanout: 2, 2",
        "Geordnete Wörter: je Zeile eines, dann fanout: 2, 2",
    ),
    "kind.tree": ("A tree: classes, and their values indented", "Ein Baum: Klassen, darunter eingerückt ihre Werte"),
    "kind.csv": (
        "A CSV file as ARX writes it: its path from the project's folder",
        "Eine CSV-Datei, wie ARX sie schreibt: Pfad vom Ordner des Projekts",
    ),
    "kind.table": (
        "Pasted from ARX: value;class;*, a line for each value",
        "Aus ARX eingefügt: Wert;Klasse;*, je Wert eine Zeile",
    ),
    "promise.about": (
        "What must hold for everybody in the release, and against whom.",
        "Was für jeden in der Veröffentlichung gelten muss, und gegen wen.",
    ),
    "promise.now": (
        "As the table is, {groups} groups of {rows} rows fail.",
        "So wie die Tabelle ist, verfehlen es {groups} Gruppen mit {rows} Zeilen.",
    ),
    "promise.now.few": (
        "As the table is, {rows} rows in {groups} groups fail for something that may be known.",
        "So wie die Tabelle ist, verfehlen es {rows} Zeilen in {groups} Gruppen bei etwas, das bekannt sein kann.",
    ),
    "promise.met": (
        "As the table is, no group fails.",
        "So wie die Tabelle ist, verfehlt es keine Gruppe.",
    ),
    "promise.remove": ("Remove", "Entfernen"),
    "promise.add": (
        "Add",
        "Hinzufügen",
    ),
    "promise.more": (
        "More requirements, with their papers",
        "Weitere Anforderungen, mit ihren Aufsätzen",
    ),
    "against.k-anonymity": (
        "Against one who looks for a person by what is known about them.",
        "Gegen jemanden, der eine Person nach dem sucht, was über sie bekannt ist.",
    ),
    "against.l-diversity": (
        "Against one who finds the group and reads off what all in it share.",
        "Gegen jemanden, der die Gruppe findet und abliest, was allen gemeinsam ist.",
    ),
    "against.p-sensitive": (
        "Against one who finds the group and reads off what all in it share.",
        "Gegen jemanden, der die Gruppe findet und abliest, was allen gemeinsam ist.",
    ),
    "against.p-alpha-sensitive": (
        "Against one who is content to learn that it is something grave.",
        "Gegen jemanden, dem genügt, dass es etwas Schweres ist.",
    ),
    "against.p-plus-alpha-sensitive": (
        "Against one who is content to learn that it is something grave.",
        "Gegen jemanden, dem genügt, dass es etwas Schweres ist.",
    ),
    "against.t-closeness": (
        "Against one who learns from how a group differs from all.",
        "Gegen jemanden, der daraus lernt, wie eine Gruppe von allen abweicht.",
    ),
    "against.other": (
        "Against one who learns from how often a value occurs in a group.",
        "Gegen jemanden, der daraus lernt, wie oft ein Wert in einer Gruppe vorkommt.",
    ),
    "run.about": (
        "Make the anonymized table. It is verified before anything is written.",
        "Die anonymisierte Tabelle erzeugen. Sie wird geprüft, bevor etwas geschrieben wird.",
    ),
    "run.method": ("Method", "Verfahren"),
    "run.suppression": (
        "Rows that may be deleted, at most (0.05 is 5 %)",
        "Zeilen, die höchstens entfallen dürfen (0.05 sind 5 %)",
    ),
    "run.go": (
        "Anonymize",
        "Anonymisieren",
    ),
    "run.left": ("{count} rows were left out.", "{count} Zeilen fielen weg."),
    "run.earlier": ("Releases of this project", "Veröffentlichungen dieses Projekts"),
    "run.none": ("There is no release yet.", "Es gibt noch keine Veröffentlichung."),
    "run.first": (
        "There is no release to look at yet.",
        "Es gibt noch keine Veröffentlichung zum Ansehen.",
    ),
    "run.first.go": (
        "Make one under Anonymize",
        "Erzeugen Sie eine unter Anonymisieren",
    ),
    "run.number": ("Release", "Veröffentlichung"),
    "run.rows": ("Rows", "Zeilen"),
    "run.groups": ("Groups", "Gruppen"),
    "run.smallest": ("Smallest", "Kleinste"),
    "run.few": ("for any {known} known", "bei {known} bekannten"),
    "run.keys": ("for each set", "bei jeder Menge"),
    "run.lost": (
        "Information lost",
        "Informationsverlust",
    ),
    "explore.about": (
        "Several methods side by side: what each costs, and what risk remains. Nothing is written.",
        "Mehrere Verfahren nebeneinander: was jedes kostet und welches Risiko bleibt. Nichts wird geschrieben.",
    ),
    "explore.methods": ("Further methods to try", "Weitere Verfahren zum Versuchen"),
    "explore.own": (
        "The method of your plan ({method}) is always tried, with your settings. The size of groups and the rows that may be deleted stay as in the plan unless you enter sizes here.",
        "Das Verfahren Ihres Plans ({method}) wird immer versucht, mit Ihren Einstellungen. Gruppengröße und erlaubte Löschungen bleiben wie im Plan, außer Sie geben hier Größen an.",
    ),
    "explore.ks": ("Sizes of groups to try (k), such as 5, 10", "Zu versuchende Gruppengrößen (k), etwa 5, 10"),
    "explore.seconds": ("Seconds for each, at most", "Sekunden für jedes, höchstens"),
    "explore.go": (
        "Compare methods",
        "Verfahren vergleichen",
    ),
    "explore.take": (
        "Use this",
        "Übernehmen",
    ),
    "explore.trial": ("Trial", "Versuch"),
    "explore.loss": (
        "Information lost",
        "Informationsverlust",
    ),
    "explore.risk": ("Risk, on average", "Risiko im Mittel"),
    "explore.outcome": ("Outcome", "Ergebnis"),
    "explore.all": (
        "All trials, least information lost first",
        "Alle Versuche, kleinster Informationsverlust zuerst",
    ),
    "explore.lattice": ("Full-domain recodings", "Verallgemeinerung ganzer Spalten"),
    "explore.lattice.about": (
        "Each box is one combination of generalization levels: at the bottom the original, at the top everything hidden. Filled boxes meet the requirements. Thick edges: the most detailed of them. Brown edge: least information lost. Dashed: your current choice. Click a box to use it.",
        "Jedes Kästchen ist eine Kombination von Stufen: unten das Original, oben ist alles verborgen. Gefüllte erfüllen die Anforderungen. Dicker Rand: die genauesten davon. Brauner Rand: kleinster Informationsverlust. Gestrichelt: Ihre jetzige Wahl. Klicken Sie auf eines, um es zu verwenden.",
    ),
    "explore.lattice.go": (
        "Draw them",
        "Zeichnen",
    ),
    "explore.efficient": ("efficient", "effizient"),
    "explore.chosen": (
        "least information lost",
        "kleinster Informationsverlust",
    ),
    "compare.before": ("original", "Original"),
    "compare.after": (
        "release",
        "anonymisiert",
    ),
    "compare.value": ("Value", "Wert"),
    "compare.cost": ("What each column lost", "Was jede Spalte verlor"),
    "compare.lost": (
        "Information lost",
        "Informationsverlust",
    ),
    "compare.moved": ("Distribution moved", "Verteilung verschoben"),
    "compare.kept": ("Values before, labels after", "Werte vorher, Bezeichnungen nachher"),
    "compare.pairs": ("Pairs of columns", "Spaltenpaare"),
    "compare.pairs.about": (
        "How strongly two columns go together (Cramér's V, 0 to 1), over {pairs} pairs. It changed by {mean} on average and {most} at most. In the last picture brown is weaker, blue is stronger than it was.",
        "Wie stark zwei Spalten zusammenhängen (Cramérs V, 0 bis 1), über {pairs} Paare. Er änderte sich um {mean} im Mittel und {most} höchstens. Im letzten Bild ist Braun schwächer, Blau stärker als vorher.",
    ),
    "compare.rows": (
        "A sample of the release",
        "Eine Stichprobe der Veröffentlichung",
    ),
    "compare.rows.about": (
        "The more information a cell has lost, the stronger its shade; one without a shade is as it was.",
        "Je mehr Information eine Zelle verlor, desto stärker ist sie getönt; eine ohne Tönung ist wie vorher.",
    ),
    "attack.best": (
        "Knowing {columns}, an intruder finds the right person in 1 of {after} cases at best.",
        "Wer {columns} kennt, findet die richtige Person bestenfalls in 1 von {after} Fällen.",
    ),
    "attack.before": (
        "Before: certain for {count} of them.",
        "Vorher: mit Gewissheit bei {count} davon.",
    ),
    "attack.few": (
        "Knowing any {known} of {columns}, an intruder finds the right person in 1 of {after} cases at best.",
        "Wer beliebige {known} von {columns} kennt, findet die richtige Person bestenfalls in 1 von {after} Fällen.",
    ),
    "attack.keys": (
        "Knowing one of the sets of columns that the plan names, an intruder finds the right person in 1 of {after} cases at best.",
        "Wer eine der Mengen von Spalten kennt, die der Plan nennt, findet die richtige Person bestenfalls in 1 von {after} Fällen.",
    ),
    "attack.few.before": (
        "Before, with all of them: certain for {count}.",
        "Vorher, mit allen davon: mit Gewissheit bei {count}.",
    ),
    "attack.few.all": (
        "Not covered by the requirements: whoever knows all {count} columns of a person at once finds {alone} of {rows} rows alone in the release. What follows assumes exactly that intruder.",
        "Von den Anforderungen nicht erfasst: Wer alle {count} Spalten einer Person auf einmal kennt, findet {alone} von {rows} Zeilen allein in der Veröffentlichung. Das Folgende nimmt genau diesen Angreifer an.",
    ),
    "attack.kind": ("Attack", "Angriff"),
    "attack.all": (
        "Attack simulations",
        "Simulierte Angriffe",
    ),
    "attack.people": (
        "tested",
        "geprüft",
    ),
    "attack.found": (
        "found",
        "gefunden",
    ),
    "attack.guess": (
        "found by guessing alone",
        "durch bloßes Raten gefunden",
    ),
    "attack.of": ("{learns} of {column}", "{learns} von {column}"),
    "attack.learns": ("learns", "erfährt"),
    "publish.about": (
        "Files of release {number}.",
        "Dateien der Veröffentlichung {number}.",
    ),
    "publish.file": ("File", "Datei"),
    "publish.size": ("Size", "Größe"),
    "publish.says": ("What it is, and what it says about the source", "Was es ist und was es über die Quelle sagt"),
    "publish.download": ("Download {file}", "{file} herunterladen"),
    "publish.write": (
        "Write table, certificate and report to the folder",
        "Tabelle, Zertifikat und Bericht in den Ordner schreiben",
    ),
    "publish.overwrite": ("Replace what is there", "Ersetzen, was dort ist"),
    "publish.where": (
        "It is {place}, where the plan says ([output]).",
        "Es ist {place}, wie der Plan sagt ([output]).",
    ),
    "publish.report": ("The report", "Der Bericht"),
    "publish.again": (
        "Repeat it on the command line",
        "Auf der Kommandozeile wiederholen",
    ),
    "says.table": ("The released table, and nothing else.", "Die veröffentlichte Tabelle und sonst nichts."),
    "says.certificate": (
        "What was required and verified, with the table's checksum: nothing but what the table itself shows.",
        "Was verlangt und geprüft wurde, mit der Prüfsumme der Tabelle: nichts, als was die Tabelle selbst zeigt.",
    ),
    "says.report": (
        "A readable report, with the distributions of the released values.",
        "Lesbarer Bericht mit Verteilungen der freigegebenen Werte.",
    ),
    "says.recoding": (
        "The levels that were chosen, for the next delivery: yours, not to be published.",
        "Die gewählten Stufen, für die nächste Lieferung: für Sie, nicht zum Veröffentlichen.",
    ),
    "says.plan": (
        "The plan. It names columns and values of hierarchies: read it before you hand it out.",
        "Der Plan. Er nennt Spalten und Werte von Hierarchien: Lesen Sie ihn, bevor Sie ihn ausgeben.",
    ),
    "state.sampled": (
        "Estimate from a sample of {rows} rows: {released} of them are kept, in {groups} groups, and about {lost} of the information is lost. With all rows it is usually less.",
        "Schätzung anhand von {rows} Zeilen: {released} davon bleiben, in {groups} Gruppen, und etwa {lost} der Information gehen verloren. Mit allen Zeilen ist es meist weniger.",
    ),
    "state.hard": (
        "A sample of the rows is too small to try this plan: anonymize to see what can be published.",
        "Eine Stichprobe ist für diesen Plan zu klein: Anonymisieren Sie, um zu sehen, was sich veröffentlichen lässt.",
    ),
    "state.check_failed": (
        "The table could not be checked against the requirements: {why}",
        "Die Tabelle konnte nicht an den Anforderungen geprüft werden: {why}",
    ),
    "state.rehearsing": (
        "Trying what the plan would publish …",
        "Probe, was der Plan veröffentlichen würde …",
    ),
    "state.released": (
        "Release {number} is of this plan.",
        "Veröffentlichung {number} entspricht diesem Plan.",
    ),
    "state.verified": (
        "Release {number} is of this plan, and verified: {released} of {rows} rows are published, and {lost} of the information is lost.",
        "Veröffentlichung {number} entspricht diesem Plan und ist geprüft: {released} von {rows} Zeilen sind veröffentlicht, {lost} der Information gingen verloren.",
    ),
    "state.changed": (
        "The plan was changed since release {number}.",
        "Der Plan wurde seit Veröffentlichung {number} geändert.",
    ),
    "state.mend": (
        "Fix it: {step}",
        "Beheben: {step}",
    ),
    "top.people": (
        "about {count} people",
        "über {count} Menschen",
    ),
    "plan.line": (
        "Line {line}",
        "Zeile {line}",
    ),
    "plan.unsaved": (
        "You have changed the text; it is not used yet.",
        "Der geänderte Text wird noch nicht verwendet.",
    ),
    "stop": (
        "Stop, keep what is there",
        "Anhalten, Bisheriges behalten",
    ),
    "columns.sort": (
        "Order",
        "Reihenfolge",
    ),
    "sort.alone": (
        "riskiest first",
        "riskanteste zuerst",
    ),
    "sort.table": (
        "as in the table",
        "wie in der Tabelle",
    ),
    "sort.role": (
        "by role",
        "nach Rolle",
    ),
    "columns.roles": (
        "What the roles mean",
        "Was die Rollen bedeuten",
    ),
    "role.identifier.about": (
        "Points to one person: name, e-mail, record number. Removed from the release.",
        "Zeigt auf eine Person: Name, E-Mail, Aktennummer. Wird entfernt.",
    ),
    "role.quasi-identifier.about": (
        "Others could know it about somebody, such as age or postcode (quasi-identifier). It is made less exact where needed.",
        "Andere könnten es über jemanden wissen, etwa Alter oder Postleitzahl (Quasi-Identifikator). Wird ungenauer, wo nötig.",
    ),
    "role.sensitive.about": (
        "Must not be linked to a person, such as a diagnosis. The values stay unchanged in the release: add a requirement to protect them.",
        "Darf keiner Person zugeordnet werden, etwa eine Diagnose. Die Werte bleiben unverändert: Schützen Sie sie durch eine Anforderung.",
    ),
    "role.other.about": (
        "Published unchanged and not protected at all. Only for columns by which nobody could recognize a person.",
        "Wird unverändert und ungeschützt veröffentlicht. Nur für Spalten, an denen niemand eine Person erkennt.",
    ),
    "role.drop.about": (
        "Not wanted. Removed from the release.",
        "Nicht gewünscht. Wird entfernt.",
    ),
    "role.person.about": (
        "Says whose row it is. Removed from the release; people are counted in place of rows.",
        "Sagt, wessen Zeile es ist. Wird entfernt; gezählt werden Menschen statt Zeilen.",
    ),
    "role.household.about": (
        "Says who lives together. Removed from the release.",
        "Sagt, wer zusammenlebt. Wird entfernt.",
    ),
    "hierarchies.known": (
        "Could be known",
        "Könnte bekannt sein",
    ),
    "hierarchies.secret": (
        "Sensitive",
        "Sensibel",
    ),
    "hierarchies.classes": (
        "Classes of sensitivity, the most sensitive first: values of one class tell equally much. Needed for conditions that speak of classes.",
        "Klassen der Empfindlichkeit, die empfindlichste zuerst: Werte einer Klasse verraten gleich viel. Nötig für Bedingungen, die von Klassen sprechen.",
    ),
    "hierarchies.order": (
        "Order of the values, from the least to the most",
        "Reihenfolge der Werte, vom kleinsten zum größten",
    ),
    "hierarchies.published": (
        "The release shows",
        "Die Veröffentlichung zeigt",
    ),
    "hierarchies.published.values": (
        "the values",
        "die Werte",
    ),
    "hierarchies.published.categories": (
        "only their classes",
        "nur ihre Klassen",
    ),
    "hierarchies.published.both": (
        "the values and their classes",
        "die Werte und ihre Klassen",
    ),
    "hierarchies.order.about": (
        "Where the values have an order (stages, incomes), conditions about distances can use it.",
        "Wo die Werte eine Ordnung haben (Stadien, Einkommen), nutzen sie Bedingungen über Abstände.",
    ),
    "hierarchies.drag": (
        "Drag a value to its class, or a class into another. By keyboard: Alt and an arrow. The text below is the same.",
        "Ziehen Sie einen Wert in seine Klasse oder eine Klasse in eine andere. Mit der Tastatur: Alt und ein Pfeil. Der Text darunter ist dasselbe.",
    ),
    "hierarchies.new": (
        "New class",
        "Neue Klasse",
    ),
    "hierarchies.begin": (
        "Begin with the column's values",
        "Mit den Werten der Spalte beginnen",
    ),
    "hierarchies.width": (
        "Width at level {level}",
        "Breite auf Stufe {level}",
    ),
    "hierarchies.finer": (
        "One more level",
        "Eine Stufe mehr",
    ),
    "hierarchies.fewer": (
        "One level less",
        "Eine Stufe weniger",
    ),
    "hierarchies.bars": (
        "Rows by value, in the steps of a level",
        "Zeilen nach Wert, in den Schritten einer Stufe",
    ),
    "hierarchies.shown": (
        "Shown: level",
        "Gezeigt: Stufe",
    ),
    "hierarchies.costs": (
        "Costs {share} of the column's detail",
        "Kostet {share} der Genauigkeit der Spalte",
    ),
    "hierarchies.brings": (
        "{rows} rows still fail with it; {less} fewer",
        "{rows} Zeilen verfehlen es noch; {less} weniger",
    ),
    "hierarchies.brings.none": (
        "This level alone helps no row",
        "Diese Stufe allein hilft keiner Zeile",
    ),
    "hierarchies.large": (
        "{count} different values: too many to sort by hand. Use a CSV file or a prefix.",
        "{count} verschiedene Werte: zu viele zum Sortieren. Nehmen Sie eine CSV-Datei oder einen Präfix.",
    ),
    "promise.intruder": (
        "What does an intruder know?",
        "Was weiß ein Angreifer?",
    ),
    "promise.all": (
        "All {count} columns that could be known, at once",
        "Alle {count} Spalten, die bekannt sein könnten, auf einmal",
    ),
    "promise.all.about": (
        "The strongest requirement; the more columns, the more is lost.",
        "Die stärkste Anforderung; je mehr Spalten, desto mehr geht verloren.",
    ),
    "promise.few": (
        "At most {known} of them, whichever they are",
        "Höchstens {known} davon, gleich welche",
    ),
    "promise.few.about": (
        "For wide tables. Whoever knows more is not stopped.",
        "Für breite Tabellen. Wer mehr weiß, wird nicht abgewehrt.",
    ),
    "promise.keys": (
        "One of these sets of columns",
        "Eine dieser Mengen von Spalten",
    ),
    "promise.keys.about": (
        "For registers that you know of: each set with its own size.",
        "Für Register, die Sie kennen: jede Menge mit eigener Größe.",
    ),
    "promise.key": (
        "Set {number}",
        "Menge {number}",
    ),
    "promise.key.k": (
        "hides among at least",
        "passend: mindestens",
    ),
    "promise.key.add": (
        "One more set",
        "Eine weitere Menge",
    ),
    "promise.people": (
        "People are counted: the table says whose rows they are.",
        "Gezählt werden Menschen: Die Tabelle sagt, wessen Zeilen es sind.",
    ),
    "promise.rows": (
        "Rows are counted. If somebody can have several rows, say under Columns which column names the person.",
        "Gezählt werden Zeilen. Wenn jemand mehrere haben kann, sagen Sie unter Spalten, welche die Person nennt.",
    ),
    "promise.checking": (
        "Counting …",
        "Zähle …",
    ),
    "promise.of": (
        "knowing {columns}",
        "mit {columns}",
    ),
    "promise.adding": (
        "One more requirement",
        "Eine weitere Anforderung",
    ),
    "promise.secret": (
        "a sensitive column",
        "einer sensiblen Spalte",
    ),
    "promise.k-anonymity": (
        "Everybody hides among at least {k} {unit} that look alike.",
        "Zu jeder Person passen mindestens {k} {unit}, die sich nicht unterscheiden lassen.",
    ),
    "promise.l-diversity": (
        "No group shares one {column}: at least {l} different values, {kind}.",
        "In jeder Gruppe kommen mindestens {l} verschiedene Werte von {column} vor, {kind}.",
    ),
    "promise.p-sensitive": (
        "Every group has at least {p} different values of {column}.",
        "Jede Gruppe hat mindestens {p} verschiedene Werte von {column}.",
    ),
    "promise.p-alpha-sensitive": (
        "Every group has at least {p} different values of {column}, and not only grave ones: their weights, 0 for the gravest and 1 for the least, add up to {alpha}.",
        "Jede Gruppe hat mindestens {p} verschiedene Werte von {column}, und nicht nur schwere: Ihre Gewichte, 0 für die schwersten und 1 für die leichtesten, ergeben {alpha}.",
    ),
    "promise.p-plus-alpha-sensitive": (
        "Every group has values of {column} from at least {p} classes of sensitivity, and not only grave ones: their weights, 0 for the gravest class and 1 for the least, add up to {alpha}.",
        "Jede Gruppe hat Werte von {column} aus mindestens {p} Klassen der Empfindlichkeit, und nicht nur schwere: Ihre Gewichte, 0 für die schwerste und 1 für die leichteste Klasse, ergeben {alpha}.",
    ),
    "promise.t-closeness": (
        "In every group {column} is distributed nearly as in the whole table: a distance of at most {t}, {distance}.",
        "In jeder Gruppe ist {column} fast so verteilt wie in der ganzen Tabelle: ein Abstand von höchstens {t}, {distance}.",
    ),
    "promise.alpha-k": (
        "Everybody hides among at least {k} {unit}, and no value of {column} has a larger share of them than {alpha}.",
        "Jeder verbirgt sich unter mindestens {k} {unit}, und kein Wert von {column} hat darunter einen größeren Anteil als {alpha}.",
    ),
    "promise.delta-disclosure": (
        "In no group is a value of {column} much more or less frequent than in all: δ below {delta}; a value that is absent {absent}.",
        "In keiner Gruppe ist ein Wert von {column} viel häufiger oder seltener als insgesamt: δ unter {delta}; ein fehlender Wert {absent}.",
    ),
    "promise.beta-likeness": (
        "In no group does the share of a value of {column} grow by more than {beta} times, {kind}.",
        "In keiner Gruppe wächst der Anteil eines Werts von {column} um mehr als das {beta}-Fache, {kind}.",
    ),
    "promise.trajectory-anonymity": (
        "Who knows all rows of a person, or any {known_rows} of them, still finds at least {k} people who have them.",
        "Wer alle Zeilen einer Person kennt, oder beliebige {known_rows} davon, findet noch mindestens {k} Menschen, die sie haben.",
    ),
    "promise.risk": (
        "The right row of a person is found with a probability of at most {highest}; on average over all rows of at most {average}.",
        "Die richtige Zeile einer Person wird höchstens mit der Wahrscheinlichkeit {highest} gefunden, im Mittel aller Zeilen höchstens mit {average}.",
    ),
    "promise.k-map": (
        "At least {k} people of the population fit every row.",
        "Zu jeder Zeile passen mindestens {k} Personen der Grundgesamtheit.",
    ),
    "promise.delta-presence": (
        "Of the people who fit some labels, a share of at most {at_most} and at least {at_least} is in the table.",
        "Von den Personen, zu denen Bezeichnungen passen, ist ein Anteil von höchstens {at_most} und mindestens {at_least} in der Tabelle.",
    ),
    "paper.k-map": (
        "Sweeney 2002",
        "Sweeney 2002",
    ),
    "paper.delta-presence": (
        "Nergiz, Atzori and Clifton 2007",
        "Nergiz, Atzori und Clifton 2007",
    ),
    "unit.rows": (
        "rows",
        "Zeilen",
    ),
    "unit.people": (
        "people",
        "Menschen",
    ),
    "field.k": (
        "size of a group (k)",
        "Größe einer Gruppe (k)",
    ),
    "field.l": (
        "different values (l)",
        "verschiedene Werte (l)",
    ),
    "field.p": (
        "different values or classes (p)",
        "verschiedene Werte oder Klassen (p)",
    ),
    "field.alpha": (
        "alpha",
        "Alpha",
    ),
    "field.t": (
        "distance (t)",
        "Abstand (t)",
    ),
    "field.delta": (
        "delta",
        "Delta",
    ),
    "field.beta": (
        "beta",
        "Beta",
    ),
    "field.c": (
        "c",
        "c",
    ),
    "field.column": (
        "column",
        "Spalte",
    ),
    "field.kind": (
        "kind",
        "Art",
    ),
    "field.distance": (
        "kind of distance",
        "Art des Abstands",
    ),
    "field.absent": (
        "absent values",
        "fehlende Werte",
    ),
    "field.known_rows": (
        "rows that are known; empty: all",
        "bekannte Zeilen; leer: alle",
    ),
    "choice.distinct": (
        "simply counted",
        "einfach gezählt",
    ),
    "choice.entropy": (
        "weighed by entropy",
        "nach Entropie gewogen",
    ),
    "choice.recursive": (
        "recursive (c, l)",
        "rekursiv (c, l)",
    ),
    "choice.equal": (
        "all values equally far apart",
        "alle Werte gleich weit entfernt",
    ),
    "choice.ordered": (
        "by the order of values",
        "nach der Ordnung der Werte",
    ),
    "choice.hierarchical": (
        "by the hierarchy",
        "nach der Hierarchie",
    ),
    "choice.fails": (
        "counts against it",
        "zählt dagegen",
    ),
    "choice.ignored": (
        "is left aside",
        "bleibt außer Acht",
    ),
    "choice.basic": (
        "basic",
        "einfach",
    ),
    "choice.enhanced": (
        "enhanced",
        "verschärft",
    ),
    "paper.k-anonymity": (
        "Sweeney 2002",
        "Sweeney 2002",
    ),
    "paper.l-diversity": (
        "Machanavajjhala et al. 2006",
        "Machanavajjhala et al. 2006",
    ),
    "paper.p-sensitive": (
        "Truta and Vinay 2006",
        "Truta und Vinay 2006",
    ),
    "paper.p-alpha-sensitive": (
        "Sun et al. 2008",
        "Sun et al. 2008",
    ),
    "paper.p-plus-alpha-sensitive": (
        "Sun et al. 2008",
        "Sun et al. 2008",
    ),
    "paper.t-closeness": (
        "Li, Li and Venkatasubramanian 2007",
        "Li, Li und Venkatasubramanian 2007",
    ),
    "paper.alpha-k": (
        "Wong et al. 2006",
        "Wong et al. 2006",
    ),
    "paper.delta-disclosure": (
        "Brickell and Shmatikov 2008",
        "Brickell und Shmatikov 2008",
    ),
    "paper.beta-likeness": (
        "Cao and Karras 2012",
        "Cao und Karras 2012",
    ),
    "paper.trajectory-anonymity": (
        "Terrovitis and Mamoulis 2008",
        "Terrovitis und Mamoulis 2008",
    ),
    "against.trajectory-anonymity": (
        "Against one who knows several rows of a person and can link them.",
        "Gegen jemanden, der mehrere Zeilen einer Person kennt und verbinden kann.",
    ),
    "paper.risk": (
        "El Emam and Dankar 2008",
        "El Emam und Dankar 2008",
    ),
    "against.risk": (
        "Against one who knows that a person is in the table, as a threshold of risk.",
        "Gegen jemanden, der weiß, dass eine Person in der Tabelle ist, als Schwelle des Risikos.",
    ),
    "against.alpha-k": (
        "Against one who reads off the value that most of a group share.",
        "Gegen jemanden, der den Wert abliest, den die meisten einer Gruppe teilen.",
    ),
    "method.auto": (
        "Several methods are tried, and the one that loses least is taken.",
        "Mehrere Verfahren werden versucht, und das mit dem kleinsten Verlust wird genommen.",
    ),
    "method.full-domain": (
        "Each column is made less exact to the same degree for all rows: easy to read and to explain.",
        "Jede Spalte wird für alle Zeilen gleich ungenau: leicht zu lesen und zu erklären.",
    ),
    "method.levels": (
        "Each column at the level that the plan says.",
        "Jede Spalte auf der Stufe, die der Plan nennt.",
    ),
    "method.mondrian": (
        "Similar rows form groups, each as exact as it can be: loses less, reads less evenly.",
        "Ähnliche Zeilen bilden Gruppen, jede so genau wie möglich: verliert weniger, liest sich uneinheitlicher.",
    ),
    "method.top-down": (
        "All is hidden first, then made more exact again while the requirements hold.",
        "Erst wird alles verborgen, dann wieder genauer, solange die Anforderungen erfüllt sind.",
    ),
    "method.hidden-cells": (
        "Columns are made less exact, and single cells hidden (local suppression) where they would make a row stand out.",
        "Spalten werden ungenauer, und einzelne Zellen verborgen (lokale Unterdrückung), wo sie eine Zeile herausheben.",
    ),
    "method.refine": (
        "Similar rows form groups, and rows move between them while that loses less: slow and good.",
        "Ähnliche Zeilen bilden Gruppen, und Zeilen wechseln sie, solange weniger verloren geht: langsam und gut.",
    ),
    "method.mdav": (
        "Numbers are replaced by the means of small groups of similar rows (microaggregation).",
        "Zahlen werden durch Mittel kleiner Gruppen ähnlicher Zeilen ersetzt (Mikroaggregation).",
    ),
    "method.switching": (
        "Rows change places between groups until every group has enough categories and weight.",
        "Zeilen tauschen die Gruppe, bis jede genug Kategorien und Gewicht hat.",
    ),
    "method.local-suppression": (
        "Values stay as they are, and single cells are hidden where they would make a row stand out.",
        "Werte bleiben, wie sie sind, und einzelne Zellen werden verborgen, wo sie eine Zeile herausheben.",
    ),
    "method.facts-suppression": (
        "Columns are made less exact, and single rows of people whose rows together would set them apart are left out.",
        "Spalten werden ungenauer, und einzelne Zeilen von Personen, die zusammen herausstechen würden, entfallen.",
    ),
    "method.anti-unification": (
        "Rows with the same values form a pattern; where they differ, the cell is hidden. No hierarchies are needed.",
        "Zeilen mit gleichen Werten bilden ein Muster; wo sie sich unterscheiden, wird die Zelle verborgen. Hierarchien sind nicht nötig.",
    ),
    "method.cbfs": (
        "As mdav, with one group at a time around the outermost row.",
        "Wie mdav, mit je einer Gruppe um die äußerste Zeile.",
    ),
    "method.v-mdav": (
        "As mdav, with groups that may grow where further rows lie close.",
        "Wie mdav, mit Gruppen, die wachsen dürfen, wo weitere Zeilen nahe liegen.",
    ),
    "method.k-first": (
        "Groups of similar rows are made larger and larger until all meet the requirements.",
        "Gruppen ähnlicher Zeilen werden immer größer, bis alle die Anforderungen erfüllen.",
    ),
    "method.p-first": (
        "Each group first takes the sensitive values that the requirements need, then the nearest rows.",
        "Jede Gruppe nimmt zuerst die sensiblen Werte, die die Anforderungen brauchen, dann die nächsten Zeilen.",
    ),
    "method.univariate": (
        "The best groups for the numbers of one column; for several, along one path through all rows.",
        "Die besten Gruppen für die Zahlen einer Spalte; bei mehreren entlang eines Weges durch alle Zeilen.",
    ),
    "method.population-grid": (
        "Every row shows its cell of a grid that was declared before the data were seen.",
        "Jede Zeile zeigt ihre Zelle eines Rasters, das vor dem Blick in die Daten festgelegt wurde.",
    ),
    "method.sampled-grid": (
        "A random part of the rows is shown by cells of a declared grid, and small cells are left out.",
        "Ein zufälliger Teil der Zeilen wird in Zellen eines festgelegten Rasters gezeigt, und kleine Zellen entfallen.",
    ),
    "run.seconds": (
        "Seconds it may search (empty: as long as it takes)",
        "Sekunden für die Suche (leer: so lange es dauert)",
    ),
    "run.now": (
        "of this plan",
        "dieses Plans",
    ),
    "run.optimal": (
        "best possible result with this method (proven)",
        "bestmögliches Ergebnis dieses Verfahrens (bewiesen)",
    ),
    "run.optimal.other": (
        "best possible result by the plan's own measure and weights (proven)",
        "bestmögliches Ergebnis im Maß des Plans mit seinen Gewichten (bewiesen)",
    ),
    "run.bound": (
        "no result can lose less than {share} (proven)",
        "weniger als {share} Verlust ist nicht möglich (bewiesen)",
    ),
    "run.look": (
        "Look at it",
        "Ansehen",
    ),
    "explore.lanes": (
        "Methods at work",
        "Verfahren bei der Arbeit",
    ),
    "explore.stopped": (
        "Stopped; what had ended is kept.",
        "Angehalten; was fertig war, ist behalten.",
    ),
    "explore.click": (
        "Click a mark, or Use this in the table, to use that setting. The star loses least of those that meet the requirements; a dashed line is the proven minimum.",
        "Klicken Sie auf eine Marke, oder auf Übernehmen in der Tabelle, um diese Einstellung zu verwenden. Der Stern verliert am wenigsten von denen, die die Anforderungen erfüllen; eine gestrichelte Linie ist das bewiesene Minimum.",
    ),
    "outcome.released": (
        "released",
        "veröffentlicht",
    ),
    "outcome.infeasible": (
        "cannot meet the requirements",
        "kann die Anforderungen nicht erfüllen",
    ),
    "outcome.refused": (
        "does not suit the plan",
        "passt nicht zum Plan",
    ),
    "outcome.too slow": (
        "took too long",
        "dauerte zu lange",
    ),
    "outcome.failed": (
        "failed",
        "fehlgeschlagen",
    ),
    "outcome.running": (
        "running",
        "läuft",
    ),
    "outcome.waiting": (
        "waiting",
        "wartet",
    ),
    "explore.lattice.large": (
        "There are too many for a picture; these are the most detailed that meet the requirements.",
        "Es sind zu viele für ein Bild; das sind die genauesten, die die Anforderungen erfüllen.",
    ),
    "explore.lattice.finest": (
        "The most detailed that meet the requirements",
        "Die genauesten, die die Anforderungen erfüllen",
    ),
    "explore.lattice.all": (
        "{holds} of {nodes} meet the requirements.",
        "{holds} von {nodes} erfüllen die Anforderungen.",
    ),
    "compare.difference": (
        "difference",
        "Unterschied",
    ),
    "compare.stale": (
        "The plan was changed since this release.",
        "Der Plan wurde seit dieser Veröffentlichung geändert.",
    ),
    "compare.pairs.most": (
        "Pairs that changed most",
        "Paare, die sich am meisten änderten",
    ),
    "compare.pair": (
        "Columns",
        "Spalten",
    ),
    "compare.columns": (
        "Column by column",
        "Spalte für Spalte",
    ),
    "compare.columns.more": (
        "{count} more columns, which lost less",
        "{count} weitere Spalten, die weniger verloren",
    ),
    "compare.more": (
        "{count} more values",
        "{count} weitere Werte",
    ),
    "compare.queries": (
        "A typical count (such as women over 60 in one region) is off by {median} (median).",
        "Eine typische Auszählung (etwa Frauen über 60 in einer Region) liegt im Median um {median} daneben.",
    ),
    "compare.tiles.rows": (
        "rows published",
        "Zeilen veröffentlicht",
    ),
    "compare.tiles.groups": (
        "groups of rows that cannot be told apart",
        "Gruppen nicht unterscheidbarer Zeilen",
    ),
    "compare.tiles.smallest": (
        "rows in the smallest",
        "Zeilen in der kleinsten",
    ),
    "compare.tiles.few": (
        "rows at least match any {known} known facts",
        "Zeilen passen mindestens zu je {known} bekannten Merkmalen",
    ),
    "compare.tiles.keys": (
        "rows at least match what a set says",
        "Zeilen passen mindestens zu dem, was eine Menge sagt",
    ),
    "compare.tiles.lost": (
        "of the information lost",
        "der Information verloren",
    ),
    "attack.others": (
        "{count} more",
        "{count} weitere",
    ),
    "attack.say.homogeneity": (
        "For {after} of {people} everybody who looks alike has the same {column}, so that it is known.",
        "Bei {after} von {people} haben alle, die gleich aussehen, denselben Wert von {column}: So ist er bekannt.",
    ),
    "attack.say.similarity": (
        "For {after} of {people} all values of {column} in the group are equally grave, so that this much is known.",
        "Bei {after} von {people} sind alle Werte von {column} der Gruppe gleich schwer: So viel ist bekannt.",
    ),
    "attack.say.inference": (
        "Whoever guesses the most frequent {column} of the group is right for {after} of {people}; without the release, for {guess}.",
        "Wer den häufigsten Wert von {column} der Gruppe rät, trifft ihn bei {after} von {people}; ohne die Veröffentlichung bei {guess}.",
    ),
    "attack.say.background knowledge": (
        "Whoever can rule out one {column} of a person then knows the right one for {after} of {people}; without the release, for {guess}.",
        "Wer bei einer Person einen Wert von {column} ausschließen kann, kennt dann den richtigen bei {after} von {people}; ohne die Veröffentlichung bei {guess}.",
    ),
    "attack.was": (
        "Before: {count}.",
        "Vorher: {count}.",
    ),
    "attack.learnt": (
        "more than without the release",
        "mehr als ohne die Veröffentlichung",
    ),
    "publish.reader": (
        "What a reader can check",
        "Was Leser prüfen können",
    ),
    "publish.reader.table": (
        "It meets the requirements: `{check}` with the plan.",
        "Sie erfüllt die Anforderungen: `{check}` mit dem Plan.",
    ),
    "publish.reader.certificate": (
        "The table's checksum (SHA-256), and every figure.",
        "Prüfsumme der Tabelle (SHA-256) und alle Kennzahlen.",
    ),
    "publish.reader.report": (
        "It needs no network and runs nothing.",
        "Er braucht kein Netz und führt nichts aus.",
    ),
    "publish.reader.recoding": (
        "`shoal release --recoding` treats the next delivery alike.",
        "`shoal release --recoding` behandelt die nächste Lieferung gleich.",
    ),
    "publish.reader.plan": (
        "`shoal release` repeats the same bytes.",
        "`shoal release` ergibt dieselben Bytes.",
    ),
    "hierarchies.told": (
        "Categories: {labels}; rows in the smallest: {rows}.",
        "Kategorien: {labels}; Zeilen in der kleinsten: {rows}.",
    ),
    "hierarchies.far": (
        "Not drawn, far off the others: {rows} rows.",
        "Nicht gezeichnet, weit entfernt von den anderen: {rows} Zeilen.",
    ),
    "promise.no-secret": (
        "Requirements about sensitive values can be added once a column is marked as sensitive, under Columns.",
        "Anforderungen an sensible Werte lassen sich stellen, sobald unter Spalten eine Spalte als sensibel markiert ist.",
    ),
    "hierarchies.raw": ("{rows} rows fail", "{rows} Zeilen verfehlen es"),
    "foot": ("Everything stays on this machine.", "Alles bleibt auf diesem Rechner."),
    "language": ("Deutsch", "English"),
    **REVIEW_TEXTS,
    **QUESTION_TEXTS,
}

SENTENCES: tuple[tuple[str, str], ...] = (
    # -- warnings of a release
    (
        "The plan is a draft: {since}. Go through it with `shoal review PLAN`; the certificate says that it is so.",
        "Der Plan ist ein Entwurf: {since}. Sehen Sie ihn durch (Schritt Durchsicht); das Zertifikat sagt es.",
    ),
    ("nobody has reviewed it", "niemand hat ihn durchgesehen"),
    (
        "its roles or models were changed after the review",
        "Rollen oder Bedingungen wurden nach der Durchsicht geändert",
    ),
    # -- why a role is suggested
    ("it has no value at all", "sie hat gar keinen Wert"),
    ("it has one value only", "sie hat nur einen Wert"),
    ("it numbers the rows", "sie nummeriert die Zeilen"),
    (
        "it is free text, which may say anything about anybody",
        "sie ist freier Text, der alles über jeden sagen kann",
    ),
    (
        "by its name it is for remarks, which may say anything about anybody",
        "dem Namen nach ist sie für Bemerkungen, die alles über jeden sagen können",
    ),
    (
        "it has so many different words that it is like free text, which may name somebody",
        "sie hat so viele verschiedene Wörter, dass sie freiem Text gleicht, der jemanden nennen kann",
    ),
    ("it tells the same as {other} in every row", "sie sagt in jeder Zeile dasselbe wie {other}"),
    ("its values look like {what}", "ihre Werte sehen aus wie: {what}"),
    ("by its name it is {what}", "dem Namen nach ist sie: {what}"),
    (
        "by its name it is a key, and nearly every row has a value of its own",
        "dem Namen nach ist sie ein Schlüssel, und fast jede Zeile hat einen eigenen Wert",
    ),
    (
        "its values look like names of people, and nearly every row has one of its own",
        "ihre Werte sehen aus wie Namen von Menschen, und fast jede Zeile hat einen eigenen",
    ),
    (
        "no two rows have the same value, as in a key",
        "keine zwei Zeilen haben denselben Wert, wie bei einem Schlüssel",
    ),
    ("by its name it is {what}, and its values {said}", "dem Namen nach ist sie: {what}, und ihre Werte {said}"),
    ("its values look like {what}, and {said}", "ihre Werte sehen aus wie: {what}, und {said}"),
    (
        "repeat: it says whose rows they are, and people are counted",
        "wiederholen sich: Sie sagt, wessen Zeilen es sind, und gezählt werden Menschen",
    ),
    ("a key", "ein Schlüssel"),
    ("others may know it: {why}", "könnte anderen bekannt sein: {why}"),
    ("by its name it tells about {what}", "dem Namen nach handelt sie von: {what}"),
    ("a place", "einem Ort"),
    ("work", "Arbeit"),
    ("income", "Einkommen"),
    ("age", "Alter"),
    ("sex", "Geschlecht"),
    ("origin", "Herkunft"),
    ("family", "Familie"),
    ("looks", "Aussehen"),
    ("where somebody lives", "Wohnort"),
    ("work and schooling", "Arbeit und Bildung"),
    ("health", "Gesundheit"),
    ("money", "Geld"),
    ("a name", "ein Name"),
    ("an address", "eine Adresse"),
    # -- attacks, and what they learn
    ("homogeneity", "Gleichheit der Gruppe"),
    ("similarity", "Ähnlichkeit der Gruppe"),
    ("inference", "Schluss auf das Häufigste"),
    ("background knowledge", "Vorwissen"),
    ("linkage of everybody", "Verknüpfung aller"),
    ("list of everybody", "Liste aller"),
    ("minimality", "Schluss aus dem Verfahren"),
    ("declared grid", "Raster aus den Daten"),
    ("extreme values", "äußerste Werte"),
    ("the value", "den Wert"),
    ("the category", "die Klasse"),
    ("the most likely value", "den wahrscheinlichsten Wert"),
    ("which row is theirs", "welche Zeile die ihre ist"),
    ("values made from the data", "Werte, die aus den Daten gemacht sind"),
    (
        "an interval's end that fewer than {k} rows have",
        "ein Intervallende, das weniger als {k} Zeilen haben",
    ),
    # -- kinds of columns, and steps of a run
    ("number", "Zahl"),
    ("word", "Wort"),
    ("code", "Code"),
    ("date", "Datum"),
    ("text", "Text"),
    ("empty", "leer"),
    ("waiting", "wartet"),
    ("reading", "liest"),
    ("checking", "prüft"),
    ("deciding", "entscheidet"),
    ("applying", "wendet an"),
    ("writing", "schreibt"),
    ("verifying", "prüft nach"),
    ("describing", "beschreibt"),
    ("comparing", "vergleicht"),
    ("bounding", "sucht eine Schranke"),
    ("publishing", "veröffentlicht"),
    ("exploring", "erkundet"),
    ("attacking", "greift an"),
    ("asking", "fragt"),
    ("drawing", "zeichnet"),
    ("hiding cells", "verbirgt Zellen"),
    ("choosing levels", "wählt Stufen"),
    ("looking at the columns", "sieht sich die Spalten an"),
    ("looking for people", "sucht nach Personen"),
    ("looking at the lattice", "sieht sich alle Stufen an"),
    ("compiling", "übersetzt"),
    (
        "compiling (once after an installation, up to a minute for a method)",
        "übersetzt (einmal nach der Installation, bis zu einer Minute je Verfahren)",
    ),
)
"""Common sentences of shoal and their German; parts in braces are carried over."""


def translate(key: str, language: str, **parts: object) -> str:
    """Return a text in a language; English if the language is unknown."""
    text = TEXTS[key][LANGUAGES.index(language) if language in LANGUAGES else 0]
    return fill_template(text, parts) if parts else text


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    made = []
    # longest literal text first: a part in braces would match everything else
    for english, german in sorted(SENTENCES, key=lambda pair: -len(re.sub(r"\{\w+\}", "", pair[0]))):
        parts = re.split(r"\{(\w+)\}", english)
        pattern = "".join(f"(?P<{part}>.+?)" if n % 2 else re.escape(part) for n, part in enumerate(parts))
        made.append((re.compile(pattern, re.DOTALL), german))
    return tuple(made)


def translate_sentence(text: str, language: str) -> str:
    """Translate one of shoal's sentences; return it unchanged if unknown.

    >>> translate_sentence("There is no such folder.", "de")
    'Diesen Ordner gibt es nicht.'
    """
    if language == LANGUAGES[0]:
        return text
    for pattern, german in _patterns():
        found = pattern.fullmatch(text)
        if found is not None:
            parts = {name: translate_sentence(part, language) for name, part in found.groupdict().items()}
            return fill_template(german, parts)
    return text


def translate_error(error: str | Mapping[str, Any] | ShoalError, language: str) -> str:
    """Translate an error, or say that it is in English only.

    The error may be in the form of :meth:`ShoalError.to_dict`.

    >>> translate_error("There is no such file.", "de"), translate_error("Something rare.", "de")
    ('Diese Datei gibt es nicht.', 'shoal meldet auf Englisch: Something rare.')
    """
    described: str | Mapping[str, Any] = error.to_dict() if isinstance(error, ShoalError) else error
    text = described if isinstance(described, str) else described["text"]
    if not isinstance(described, str) and language in described.get("texts", {}):
        return str(described["texts"][language])
    translated = translate_sentence(text, language)
    return (
        translated
        if translated != text or language == LANGUAGES[0]
        else translate("error.english", language, text=text)
    )
