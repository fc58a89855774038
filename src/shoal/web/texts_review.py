"""Texts of the page about recipients, reviews and exposure.

English and German, as in :mod:`shoal.web.translations`.
"""

from __future__ import annotations

from shoal.plan.review import QUESTIONS

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
    "step.review": ("Review", "Durchsicht"),
    "review.about": (
        "What only a person can decide, the shortest list first. Tick what is right, and change what is not.",
        "Was nur ein Mensch entscheiden kann, die kürzeste Liste zuerst. Kreuzen Sie an, was stimmt, und ändern Sie, was nicht stimmt.",
    ),
    "review.draft": ("Nobody has reviewed this plan.", "Niemand hat diesen Plan durchgesehen."),
    "review.none": ("The plan does not say whether it was reviewed.", "Der Plan sagt nicht, ob er durchgesehen wurde."),
    "review.reviewed": ("Reviewed by {by} on {on}.", "Durchgesehen von {by} am {on}."),
    "review.changed": (
        "Changed since the review by {by} on {on}: roles, conditions or the recipient are not what was read.",
        "Geändert seit der Durchsicht von {by} am {on}: Rollen, Bedingungen oder Empfänger sind nicht mehr, was gelesen wurde.",
    ),
    "review.promise": (
        "Is this what must hold, and is that the recipient?",
        "Muss das gelten, und stimmt der Empfänger?",
    ),
    "review.identifier": (QUESTIONS["identifier"], "nennt jemanden und entfällt. Gibt es noch eine solche Spalte?"),
    "review.person": (
        QUESTIONS["person"],
        "sagt, wessen Zeilen es sind: Gezählt werden Menschen. Ist es die richtige?",
    ),
    "review.household": (QUESTIONS["household"], "sagt, zu welchem Haushalt eine Zeile gehört. Ist es die richtige?"),
    "review.drop": (QUESTIONS["drop"], "wird nicht veröffentlicht. Brauchen Leser sie?"),
    "review.other": (
        QUESTIONS["other"],
        "wird veröffentlicht, wie sie ist. Schadet das niemandem, und kann kein Fremder sie wissen?",
    ),
    "review.sensitive": (QUESTIONS["sensitive"], "soll niemand erfahren. Ist das alles, was jemandem schadet?"),
    "review.quasi-identifier": (
        QUESTIONS["quasi-identifier"],
        "können andere wissen, und sie wird geschützt. Ist das alles, was sie wissen können?",
    ),
    "review.each": ("Each of these", "Jede davon"),
    "review.right": ("This is right", "Das stimmt"),
    "review.change": ("Change it under {step}", "Ändern unter {step}"),
    "review.role": ("Role of {column}", "Rolle von {column}"),
    "review.by": ("Your name", "Ihr Name"),
    "review.by.about": (
        "Name and day are written into the plan, with a digest of what you have read. They are not published: the certificate only says that the plan was reviewed.",
        "Name und Tag stehen dann im Plan, mit einer Prüfsumme des Gelesenen. Sie werden nicht veröffentlicht: Das Zertifikat sagt nur, dass der Plan durchgesehen wurde.",
    ),
    "review.go": ("Record the review", "Durchsicht festhalten"),
    "review.warning": (
        "A release of it works, and its certificate says that it was not reviewed.",
        "Eine Veröffentlichung ist möglich; ihr Zertifikat sagt, dass er nicht durchgesehen ist.",
    ),
    "review.now": ("Review it", "Durchsehen"),
    "exposure": ("Who can still be found", "Wer noch zu finden ist"),
    "exposure.none": (
        "Whoever knows all columns that others may know ({count}) finds at least {small} {unit} that fit, for everybody.",
        "Wer alle Spalten kennt, die andere wissen können ({count}), findet zu jeder Person mindestens {small} passende {unit}.",
    ),
    "exposure.some": (
        "Whoever knows all columns that others may know ({count}) finds fewer than {small} {unit} that fit for {exposed} of {rows} ({part}); {alone} of them are alone.",
        "Wer alle Spalten kennt, die andere wissen können ({count}), findet bei {exposed} von {rows} ({part}) weniger als {small} passende {unit}; {alone} davon sind allein.",
    ),
    "exposure.all": ("All of them ({count})", "Alle ({count})"),
    "exposure.alone": ("alone", "allein"),
    "exposure.below": ("fewer than {small} fit", "weniger als {small} passen"),
    "exposure.known": ("What is known", "Was bekannt ist"),
    "exposure.yours": ("For you alone: none of this is published.", "Nur für Sie: Nichts davon wird veröffentlicht."),
    "exposure.add": (
        "The plan covers a part of these columns only. If they can be known together, protect them together:",
        "Der Plan schützt nur einen Teil dieser Spalten zusammen. Wenn sie zusammen bekannt sein können, schützen Sie sie zusammen:",
    ),
    "exposure.add.go": ("Add this set to the plan", "Diese Menge in den Plan aufnehmen"),
    "exposure.asked": (
        "The plan asks for smaller groups than {small}; a larger k protects these, too.",
        "Der Plan verlangt kleinere Gruppen als {small}; ein größeres k schützt auch diese.",
    ),
    "group.check": ("1. Check the columns", "1. Spalten prüfen"),
    "group.require": ("2. Set requirements", "2. Anforderungen"),
    "group.anonymize": ("3. Anonymize", "3. Anonymisieren"),
    "group.download": ("4. Check and download", "4. Prüfen und laden"),
    "group.answers": ("Or: single answers", "Oder: einzelne Antworten"),
    "checklist": ("Before you hand it out", "Bevor Sie es ausgeben"),
    "checklist.verified": (
        "Verified: the release meets these requirements.",
        "Geprüft: Die Veröffentlichung erfüllt diese Anforderungen.",
    ),
    "checklist.not": ("What they do not cover", "Was sie nicht erfassen"),
    "checklist.other": (
        "Published unchanged and not protected at all: {columns}.",
        "Unverändert und ganz ungeschützt veröffentlicht: {columns}.",
    ),
    "checklist.sensitive": (
        "Published with their values, protected only as far as the requirements go: {columns}.",
        "Mit ihren Werten veröffentlicht, nur so weit geschützt, wie die Anforderungen reichen: {columns}.",
    ),
    "checklist.sensitive.none": (
        "Published with their values, and no requirement is about these values: {columns}.",
        "Mit ihren Werten veröffentlicht, und keine Anforderung betrifft diese Werte: {columns}.",
    ),
    "checklist.exact": (
        "Exact values single people out: {columns}. In {column}, {count} of {rows} published rows have a value that no other row has; whoever knows it finds the row and reads the rest.",
        "Genaue Werte zeigen auf einzelne: {columns}. In {column} haben {count} von {rows} veröffentlichten Zeilen einen Wert, den keine andere hat; wer ihn kennt, findet die Zeile und liest den Rest.",
    ),
    "checklist.partial": (
        "Whoever knows all {count} columns that others may know finds {alone} of {total} {unit} ({part}) alone.",
        "Wer alle {count} Spalten kennt, die andere wissen können, findet {alone} von {total} {unit} ({part}) allein.",
    ),
    "checklist.partial.known": (
        "Only intruders who know at most {known} facts about a person are stopped.",
        "Abgewehrt wird nur, wer von einer Person höchstens {known} Merkmale kennt.",
    ),
    "checklist.partial.keys": (
        "Only intruders who know no more than the named sets of columns are stopped.",
        "Abgewehrt wird nur, wer nicht mehr als die genannten Mengen von Spalten kennt.",
    ),
    "checklist.tick.partial": (
        "Nobody who receives the table can know more than that.",
        "Niemand, der die Tabelle bekommt, kann mehr wissen.",
    ),
    "checklist.tick.exact": (
        "Nobody can know these exact values of a person, or the recipient may have them.",
        "Niemand kann diese genauen Werte einer Person wissen, oder der Empfänger darf sie haben.",
    ),
    "checklist.tick.unchanged": (
        "I have looked at these columns, and nobody can recognize a person by them.",
        "Ich habe diese Spalten angesehen, und niemand kann daran eine Person erkennen.",
    ),
    "checklist.draft.draft": (
        "This release was made from a draft that nobody has reviewed.",
        "Diese Veröffentlichung entstand aus einem Entwurf, den niemand durchgesehen hat.",
    ),
    "checklist.draft.changed": (
        "The plan of this release was changed after its review.",
        "Der Plan dieser Veröffentlichung wurde nach der Durchsicht geändert.",
    ),
    "checklist.warnings": ("Warnings of this release", "Warnungen zu dieser Veröffentlichung"),
    "publish.handout": ("Files to hand out", "Dateien zum Ausgeben"),
    "publish.zip": ("Download all as a zip", "Alle als Zip herunterladen"),
    "publish.kept": ("Files that stay with you", "Dateien, die bei Ihnen bleiben"),
    "publish.kept.about": (
        "They tell more than the release. They are not in the zip and are not written to the target.",
        "Sie sagen mehr als die Veröffentlichung. Sie sind nicht im Zip und werden nicht ans Ziel geschrieben.",
    ),
    "publish.reproduce": ("For reproducibility", "Zur Wiederholbarkeit"),
    "says.internal": (
        "The internal report: everything, with figures about the original. Do not hand it out.",
        "Der interne Bericht: alles, mit Zahlen über das Original. Geben Sie ihn nicht aus.",
    ),
    "publish.reader.internal": ("For you and your ethics board.", "Für Sie und Ihre Ethikkommission."),
    "cliff": ("How many are found by what is known", "Wie viele man an wie viel Wissen findet"),
    "cliff.before": (
        "Whoever knows {columns} of a person narrows the original down to fewer than {small} rows for {before} of the rows.",
        "Wer {columns} einer Person kennt, grenzt das Original für {before} der Zeilen auf weniger als {small} ein.",
    ),
    "cliff.after": ("In the release: {after}.", "In der Veröffentlichung: {after}."),
    "cliff.about": (
        "Share of rows that fewer than {small} rows match, by the number of known facts. Each point adds the fact that tells most.",
        "Anteil der Zeilen, zu denen weniger als {small} passen, nach der Zahl bekannter Merkmale. Jeder Punkt fügt das verräterischste Merkmal hinzu.",
    ),
    "cliff.sampled": (
        "The release was searched for {rows} of the rows.",
        "In der Veröffentlichung wurde nach {rows} der Zeilen gesucht.",
    ),
    "cliff.facts": ("{count} known", "{count} bekannt"),
    "cliff.all": ("all {count}", "alle {count}"),
    "cliff.table": ("The same as a table", "Dasselbe als Tabelle"),
    "find": ("Try to find someone", "Versuchen Sie, jemanden zu finden"),
    "find.about": (
        "Enter up to three facts about somebody you know. You get the numbers of rows that match, and no row.",
        "Geben Sie bis zu drei Merkmale von jemandem an, den Sie kennen. Sie erfahren, wie viele Zeilen passen, und keine Zeile.",
    ),
    "find.column": ("Column of fact {number}", "Spalte von Merkmal {number}"),
    "find.value": ("Value of fact {number}", "Wert von Merkmal {number}"),
    "find.go": ("Count the rows that match", "Passende Zeilen zählen"),
    "find.before": ("rows match in the original", "Zeilen passen im Original"),
    "find.after": ("rows can match in the release", "Zeilen können in der Veröffentlichung passen"),
    "undo": ("Undo the last change", "Letzte Änderung zurücknehmen"),
    "manage": ("Rename or delete", "Umbenennen oder löschen"),
    "manage.title": ("Title", "Titel"),
    "manage.rename": ("Rename", "Umbenennen"),
    "manage.about": (
        "Deletes plan, releases, log and an uploaded copy of the table. Files are overwritten first, as far as the file system allows: journals, snapshots and flash memory may keep copies. The key of pseudonyms, ledgers and files that you wrote elsewhere stay.",
        "Löscht Plan, Veröffentlichungen, Protokoll und eine hochgeladene Kopie der Tabelle. Dateien werden zuerst überschrieben, soweit das Dateisystem es zulässt: Journale, Schnappschüsse und Flash-Speicher können Kopien behalten. Der Schlüssel der Pseudonyme, Register und anderswo geschriebene Dateien bleiben.",
    ),
    "manage.type": ("To delete it, type {name}", "Zum Löschen schreiben Sie {name}"),
    "manage.remove": ("Delete for good", "Endgültig löschen"),
    "run.remove": ("Delete", "Löschen"),
    "run.remove.sure": (
        "Delete release {number} for good? Files that you have downloaded or written stay.",
        "Veröffentlichung {number} endgültig löschen? Geladene oder geschriebene Dateien bleiben.",
    ),
    "run.format": ("File format of the release", "Dateiformat der Veröffentlichung"),
    "columns.search": ("Search columns", "Spalten suchen"),
    "columns.filter": ("Role", "Rolle"),
    "columns.filter.all": ("All roles", "Alle Rollen"),
    "columns.bulk": ("Change all columns shown to", "Alle gezeigten Spalten ändern in"),
    "columns.bulk.go": ("Change", "Ändern"),
    "columns.shown": ("Columns shown: {count}", "Gezeigte Spalten: {count}"),
    "checklist.left": (
        "Rows left out: {count}. See under Before and after whether a minority is gone.",
        "Weggelassene Zeilen: {count}. Sehen Sie unter Vorher und nachher, ob eine Minderheit fehlt.",
    ),
    "checklist.linked": (
        "Pseudonyms link all rows of a person, in this release and in others with the same key.",
        "Pseudonyme verbinden alle Zeilen einer Person, hier und in anderen Veröffentlichungen mit demselben Schlüssel.",
    ),
    "checklist.more": (
        "Whoever knows more of a person than what could be known by these columns is not stopped.",
        "Wer von einer Person mehr weiß, als diese Spalten sagen, wird nicht abgewehrt.",
    ),
    "checklist.typed": (
        "{column} looks like an identifier. If it must be published as it is, type its name",
        "{column} sieht aus wie ein Identifikator. Wenn sie unverändert veröffentlicht werden muss, schreiben Sie ihren Namen",
    ),
    "checklist.go": ("Confirm, and show the files", "Bestätigen und Dateien zeigen"),
    "checklist.change": ("or change a role under Columns", "oder eine Rolle unter Spalten ändern"),
}
