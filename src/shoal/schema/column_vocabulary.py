"""Vocabulary of column names in six languages, by meaning.

The languages are English, German, French, Spanish, Portuguese and Italian. Each list has phrases by their meaning. They
are written without accents and compared in this form (:func:`words_of`). A phrase of several words must occur in the
name without gaps, anywhere in it: ``r_case_number`` contains ``case number``.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files


@cache
def _lists() -> dict[str, dict[str, str]]:
    """Return the words for people, keys and remarks by language."""
    return tomllib.loads((files("shoal.schema") / "words" / "people.toml").read_text(encoding="utf-8"))


def _words(what: str) -> frozenset[str]:
    return frozenset(word.strip() for words in _lists()[what].values() for word in words.split(","))


def _by_phrase(listed: Mapping[str, str]) -> dict[str, str]:
    return {phrase.strip(): what for what, phrases in listed.items() for phrase in phrases.split(",")}


AMBIGUOUS_MEANING = "something of one person's own"
"""A device may be a person's own, or one of three common models: such a name counts only with a large number of
values."""
IDENTIFIERS = _by_phrase(
    {
        "a name": (
            "fullname, surname, surnames, firstname, lastname, forename, givenname, nickname, fname, lname, "
            "initials, inits, subjinit, "
            "first name, last name, full name, given name, family name, middle name, maiden name, maiden, "
            "birth name, second name, vorname, nachname, familienname, geburtsname, rufname, prenom, prenoms, "
            "nom de famille, nom complet, patronyme, apellido, apellidos, primer apellido, segundo apellido, "
            "nom jf, nom de jeune fille, nom naissance, nom de naissance, nom usage, nom usuel, nom patronymique, "
            "voornaam, achternaam, familienaam, tussenvoegsel, foernamn, fornamn, efternamn, fornavn, etternavn, "
            "efternavn, imie, nazwisko, "
            "sobrenome, apelido, cognome, nome completo, nombre completo, primeiro nome"
        ),
        "a user name": ("username, user name, login, screen name, nutzername, benutzername, utilisateur, usuario"),
        "an e-mail address": ("email, emails, mail, e mail, mailadresse, courriel, correo, e post, posta elettronica"),
        "a telephone number": (
            "phone, telephone, telefon, telefono, telefone, tel, mobil, handy, cellphone, fax, telefonnummer, "
            "rufnummer, celular, movil, cellulare, msisdn, whatsapp"
        ),
        "a national number": (
            "ssn, nino, dni, cod fisc, codfisc, cf pers, nss, nuss, curp, rut, nie, nif, cpf, bsn, nir, passport, "
            "social security, national id, national number, "
            "tax id, tax number, codice fiscale, personnummer, steuernummer, steuer id, ausweisnummer, "
            "sozialversicherungsnummer, svnr, ahv, passeport, pasaporte, passaporte, passaporto, reisepass, "
            "numero de securite sociale, securite sociale, seguridad social, carta d identita, rg number, nhs, "
            "pesel, fodselsnummer, foedselsnummer, cprnr, cpr nummer, burgerservicenummer, sofinummer, "
            "medicare, medicaid, insurance number, versichertennummer, krankenversichertennummer, kvnr"
        ),
        "a bank account or card": (
            "iban, bic, credit card number, credit card, card number, card no, account number, account no, "
            "account id, bank account, kontonummer, kreditkarte, numero de compte, compte bancaire, cuenta "
            "bancaria, numero de cuenta, conta bancaria, conto corrente, carta di credito, tarjeta de credito"
        ),
        "a number of a case or contract": (
            "case number, case no, case nr, case id, caseid, docket, docket number, file number, file no, "
            "fallnummer, fall nr, aktenzeichen, numero de dossier, numero de expediente, expediente, numero do "
            "processo, claim number, claim id, policy number, contract number, contract id, vertragsnummer, "
            "policennummer, order number, invoice number, rechnungsnummer, booking number, ticket number, "
            "tracking number"
        ),
        "a number of a licence or plate": (
            "licence number, license number, licence plate, license plate, number plate, driver licence, driver "
            "license, drivers license, plate number, kennzeichen, fuehrerschein, immatriculation, matricula, "
            "placa, targa, vehicle id, badge number, drivers lic, driver lic, "
            "kfz kennz, kfz kennzeichen, kennz, nummernschild, "
            "plaque d immatriculation"
        ),
        "a key of a record": (
            "uuid, guid, mrn, medical record, medical record number, seqn, record id, recordid, row id, rowid, "
            "respondent id, participant id, subject id, person id, personid, patient id, patientid, customer "
            "id, client id, user id, userid, member id, employee id, student id, serial number, seriennummer, "
            "sernr, caseno"
        ),
        "an address": (
            "hausnr, huisnr, huisnummer, husnr, num civico, civico, "
            "address, addresses, street, street address, house number, strasse, hausnummer, adresse, anschrift, "
            "direccion, calle, endereco, rua, morada, indirizzo, rue, domicile, domicilio, addr"
        ),
        "a number of a device": (
            "mac, mac address, imei, imsi, device id, deviceid, geraete id, cookie, cookie id, advertising id"
        ),
        "a network or web address": (
            "ip, ip address, ipaddress, url, uri, website, homepage, webseite, hostname, session id"
        ),
        "a picture or signature": ("photo, foto, signature, unterschrift, fingerprint"),
        AMBIGUOUS_MEANING: (
            "device, plate, mobile, portable, image, picture, voice, serial, dossier, via, processo, pratica, nick, "
            "vin, "
            "drivers, licence, license"
        ),
    }
)
IDENTIFYING_ALONE = _by_phrase(
    {
        "a name": (
            "name, names, nom, noms, nombre, nombres, nome, nomi, first, last, given, middle, family, sur, "
            "fore, namen, full"
        ),
    }
)
"""Words that identify a person only alone, or next to a word for people: file name and last visit do not."""
PEOPLE = _words("people") | _words("staff")
STAFF = _words("staff")
"""People with keys in tables about others: the officer of a stop, the doctor of a visit."""
PERSONAL_MEANINGS = {
    "a national number",
    "an e-mail address",
    "a user name",
    "a telephone number",
    "a bank account or card",
    "a number of a device",
}
"""Meanings that belong to one person: repeated values of them identify the person of a row. Names are shared."""
SHARED_MEANINGS = {"a name", "an address"}
"""Meanings that different people share by chance, or because they live in one household."""
REMARKS = _words("remarks")
KEYS = _words("keys")
CODES = _words("codes")
"""Keys that alone may be anything: a diagnosis has a code."""
SENSITIVE = _by_phrase(
    {
        "health": (
            "diagnosis, diagnoses, disease, condition, illness, icd, icd10, icd9, hiv, aids, symptom, symptoms, "
            "drug, drugs, medication, treatment, therapy, disability, allergy, diagnose, diagnosen, krankheit, "
            "erkrankung, maladie, "
            "diagnostic, enfermedad, diagnostico, doenca, malattia, diagnosi, behinderung, handicap, pregnant, "
            "pregnancy, suicide, cause of death, todesursache, mental, psychiatric, comorbidity, special needs, "
            "sen status, disabled, schwerbehindert, schwerbehinderung, krankheitstage, krankenstand, fehltage, "
            "sick days, sick leave, arret maladie, foerderbedarf, diagnosed, depression, depressed, anxiety, cancer, "
            "krebs, diabetes, disorder, addiction, abuse, abortion"
        ),
        "income": (
            "salary, income, wage, wages, earnings, gehalt, einkommen, lohn, revenu, revenus, salaire, ingreso, "
            "ingresos, salario, sueldo, renda, rendimento, reddito, stipendio"
        ),
        "debts and money": (
            "debt, debts, schulden, dette, dettes, deuda, divida, debito, bankrupt, bankruptcy, tax liens, "
            "balance, delinq, loan status, default"
        ),
        "belief": ("religion, belief, confession, konfession, religione, religiao, faith"),
        "sexual life": ("orientation, sexuality, sexual"),
        "political opinion": (
            "party, vote, partei, partido, partito, union member, trade union, gewerkschaft, syndicat, sindicato, "
            "sindacato"
        ),
        "offences": (
            "crime, offence, offense, conviction, convicted, arrest, felony, charge, charges, recid, "
            "recidivism, straftat, delit, delito, reato, crimen, prison, jail, custody"
        ),
    }
)
PUBLIC_KNOWLEDGE = _by_phrase(
    {
        "age": (
            "age, dob, birth, birthday, birthdate, born, yob, alter, geburtsdatum, geburtstag, geburtsjahr, "
            "geboren, naissance, edad, nacimiento, idade, nascimento, eta, nascita, date of birth"
        ),
        "sex": ("sex, gender, male, female, geschlecht, sexe, genre, sexo, genero, sesso, genere"),
        "origin": (
            "race, ethnicity, ethnic, nationality, citizenship, nationalitaet, staatsangehoerigkeit, herkunft, "
            "nationalite, nacionalidad, nacionalidade, nazionalita, native, language, sprache, langue, geburtsort, "
            "geburtsland"
        ),
        "where somebody lives": (
            "zip, zipcode, postcode, postal, plz, postleitzahl, cap, city, town, village, county, district, "
            "region, state, country, province, municipality, neighborhood, neighbourhood, stadt, ort, wohnort, "
            "gemeinde, kreis, land, bundesland, ville, commune, departement, pays, ciudad, municipio, "
            "provincia, pais, cidade, estado, comune, citta, paese, lat, latitude, lon, lng, longitude, "
            "location, area"
        ),
        "family": (
            "marital, married, civil status, familienstand, children, kinder, household size, etat civil, "
            "enfants, estado civil, hijos, filhos, stato civile, figli, relationship, widowed, divorced"
        ),
        "work and schooling": (
            "occupation, job, profession, employment, emp, employer, education, degree, school, beruf, bildung, "
            "schule, ausbildung, metier, etudes, ocupacion, profesion, educacion, profissao, educacao, "
            "professione, istruzione, workclass, industry, department, homeownership, housing, home"
        ),
        "looks": ("height, weight, hair, eyes, groesse, gewicht, taille, poids, altura, peso, altezza"),
    }
)
"""Attributes of a person that neighbours, colleagues and public registers know."""
COMPOUND_SUFFIXES = ("name", "namen", "nummer", "nr", "id", "kennung", "schluessel", "adresse")
COMPOUND_HEADS = (
    "diagnose", "diagnosen", "krankheit", "erkrankung", "behinderung", "gehalt", "einkommen", "lohn", "schulden",
    "konfession", "straftat", "adresse", "anschrift", "strasse", "telefon", "telefonnummer", "kontonummer",
)  # fmt: skip
"""Heads of German compounds: Hauptdiagnose is a diagnose, Bruttolohn a lohn."""


LETTERS_WITHOUT_ACCENTS = ("ae", "oe", "ue", "ss", "Ae", "Oe", "Ue", "oe", "Oe", "ae", "Ae", "l", "L")


def words_of(name: str) -> list[str]:
    """Return the words of a column's name, lower case and without accents.

    patientID, patient_id and Patient Id all become patient and id.

    >>> words_of("patientID"), words_of("E-Mail address"), words_of("Prénom")
    (['patient', 'id'], ['e', 'mail', 'address'], ['prenom'])
    """
    spaced = re.sub(r"([a-z\d])([A-Z])", r"\1 \2", name[:200])
    for umlaut, plain in zip("äöüßÄÖÜøØæÆłŁ", LETTERS_WITHOUT_ACCENTS, strict=True):
        spaced = spaced.replace(umlaut, plain)
    bare = "".join(sign for sign in unicodedata.normalize("NFKD", spaced) if not unicodedata.combining(sign))
    return [part for word in re.findall(r"[^\W_]+", bare) for part in _parts(word.lower())]


def _parts(word: str) -> list[str]:
    """Split a German compound for a person's name or number.

    Patientenname and Kundennummer are two words each.
    """
    for last in COMPOUND_SUFFIXES:
        people = word.removesuffix(last)
        if people != word and (people in PEOPLE or people.removesuffix("s") in PEOPLE):
            return [people, last]
    return [word]


def meaning_of(words: list[str], listed: Mapping[str, str]) -> str | None:
    """Return the meaning of a name by a list of phrases, or None.

    Longer phrases have priority.
    """
    for phrase in _phrases(words):
        if phrase in listed:
            return listed[phrase]
    heads = (head for word in words for head in COMPOUND_HEADS if word.endswith(head) and head in listed)
    return next((listed[head] for head in heads), None)


def _phrases(words: list[str]) -> Iterable[str]:
    for length in (4, 3, 2, 1):
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])
