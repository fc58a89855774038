"""What names a person directly, and what one would not like to be known: told by a column's name and its content.

Content is matched by form and, where there is one, by check digits, so that a column of nine-digit amounts is not taken
for national numbers. A column is taken for identifiers where most of its values match.
"""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Callable, Mapping, Sequence

__all__ = ["identifier_reason", "sensitive_reason", "words_of"]

MOST = 0.8
"""The part of a column's different values that must match."""
SAMPLE = 2000
NEARLY_UNIQUE = 0.95
FEW_ROWS = 20

_IDENTIFIERS = {
    "a name": "name, names, fullname, surname, firstname, lastname, forename, givenname, nickname, vorname, nachname, "
    "nom, prenom, prénom, nombre, apellido, apellidos, nome, cognome, first name, last name, full name, given name, "
    "family name, middle name, maiden name, patient name, customer name, person name",
    "a user name": "username, login, user name",
    "an e-mail address": "email, mail, e mail",
    "a telephone number": "phone, telephone, telefon, telefono, téléphone, tel, mobile, mobil, handy, cellphone, fax, "
    "telefonnummer, rufnummer",
    "a national number": "ssn, nino, dni, bsn, passport, social security, national id, national number, tax id, "
    "codice fiscale, personnummer, steuernummer, ausweisnummer, sozialversicherungsnummer",
    "a bank account or card": "iban, credit card, card number, account number, kontonummer",
    "a number of a licence": "licence number, license number, licence plate, license plate",
    "a key of a record": "uuid, guid, mrn, medical record",
    "an address": "address, street, strasse, straße, adresse, direccion, indirizzo",
    "a network or web address": "ip, url",
    "a picture or signature": "photo, signature",
}
_SENSITIVE = {
    "health": "diagnosis, disease, condition, illness, icd, icd10, hiv, symptom, symptoms, drug, medication, "
    "treatment, therapy, disability, allergy, diagnose, krankheit, maladie",
    "income": "salary, income, wage, wages, earnings, gehalt, einkommen, revenu",
    "debts": "debt, debts",
    "belief": "religion, belief, confession",
    "sexual life": "orientation, sexuality",
    "political opinion": "party, vote",
    "offences": "crime, offence, offense, conviction",
}
_KEYS = {"id", "key", "nr", "no", "number", "num", "code", "identifier", "index", "ref", "reference", "record", "row"}
_NOT_IN_PHRASES = {"name", "names", "nome", "nombre"}  # file name, product name: only alone do they name a person


def _by_phrase(listed: Mapping[str, str]) -> dict[str, str]:
    return {phrase.strip(): what for what, phrases in listed.items() for phrase in phrases.split(",")}


_IDENTIFIER_OF = _by_phrase(_IDENTIFIERS)
_SENSITIVE_OF = _by_phrase(_SENSITIVE)


def words_of(name: str) -> list[str]:
    """The words of a column's name: patientID, patient_id and Patient Id are patient and id.

    >>> words_of("patientID"), words_of("E-Mail address")
    (['patient', 'id'], ['e', 'mail', 'address'])
    """
    spaced = re.sub(r"([a-z\d])([A-Z])", r"\1 \2", name[:200])
    return [word.lower() for word in re.findall(r"[^\W_]+", spaced)]


def identifier_reason(name: str, values: Sequence[str], distinct: float, rows: int) -> str | None:
    """Why a column is taken for a direct identifier, or None.

    Parameters
    ----------
    values
        Its different values.
    distinct
        How many they are, as part of the rows.
    """
    words = words_of(name)
    step = max(1, len(values) // SAMPLE)
    sample = [value.strip() for value in values[::step]][: 2 * SAMPLE]
    for what, matches in _CONTENT:
        if sum(map(matches, sample)) >= MOST * len(sample):
            return f"its values look like {what}"
    phrases = [*map(" ".join, itertools.pairwise(words)), *(word for word in words if word not in _NOT_IN_PHRASES)]
    for phrase in phrases if len(words) > 1 else words:
        if phrase in _IDENTIFIER_OF:
            return f"by its name it is {_IDENTIFIER_OF[phrase]}"
    nearly_unique = distinct >= NEARLY_UNIQUE and rows >= FEW_ROWS
    if nearly_unique and _KEYS & set(words):
        return "by its name it is a key, and nearly every row has a value of its own"
    if nearly_unique and _running(values):
        return "it numbers the rows"
    if nearly_unique and sum(map(_is_name, sample)) >= MOST * len(sample):
        return "its values look like names of people, and nearly every row has one of its own"
    return None


def sensitive_reason(name: str) -> str | None:
    """Why a column is taken for sensitive, or None; told by its name alone."""
    for word in words_of(name):
        if word in _SENSITIVE_OF:
            return f"by its name it tells about {_SENSITIVE_OF[word]}"
    return None


# -- content -----------------------------------------------------------------------------------------


def _luhn(digits: str) -> bool:
    """The check digit of payment cards and many national numbers."""
    total = 0
    for place, sign in enumerate(reversed(digits)):
        number = int(sign) * (1 + place % 2)
        total += number - 9 * (number > 9)
    return total % 10 == 0


def _is_email(text: str) -> bool:
    return re.fullmatch(r"[^@\s]{1,64}@[^@\s]+\.[^@\s.]{2,}", text) is not None


def _is_phone(text: str) -> bool:
    """With a plus, a leading zero or separators: a bare number may be anything."""
    digits = re.sub(r"\D", "", text)
    if (
        not 7 <= len(digits) <= 15
        or not re.fullmatch(r"\+?[\d\s()./-]+", text)
        or re.fullmatch(r"\d{4}-\d\d-\d\d", text)
    ):
        return False
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        return re.fullmatch(r"0[1-9]\d{7,10}|00[1-9]\d{8,12}", text) is not None
    parts = len(re.findall(r"\d+", text))
    return text.startswith("+") or (parts >= 2 and ("(" in text or parts >= 3) and not re.fullmatch(r"[\d./]+", text))


def _is_card(text: str) -> bool:
    digits = re.sub(r"[ -]", "", text)
    return digits.isascii() and digits.isdigit() and 13 <= len(digits) <= 19 and _luhn(digits)


def _is_iban(text: str) -> bool:
    plain = text.replace(" ", "").upper()
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z\d]{10,30}", plain):
        return False
    return int("".join(str(int(sign, 36)) for sign in plain[4:] + plain[:4])) % 97 == 1


def _is_social_security(text: str) -> bool:
    return re.fullmatch(r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}", text) is not None


def _is_national(text: str) -> bool:
    """Codice fiscale, NINO, DNI/NIE (letter), Dutch BSN (eleven test), Swedish and Finnish numbers, French NIR."""
    plain = text.replace(" ", "").upper()
    if re.fullmatch(r"[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z]", plain):
        return True
    if re.fullmatch(r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]\d{6}[A-D]", plain):
        return True
    if found := re.fullmatch(r"([XYZ]?)(\d{7,8})([A-Z])", plain):
        number = int({"X": "0", "Y": "1", "Z": "2", "": ""}[found[1]] + found[2])
        return "TRWAGMYFPDXBNJZSQVHLCKE"[number % 23] == found[3]
    if re.fullmatch(r"(\d\d)?\d{6}[-+]\d{4}", plain):
        return _luhn(re.sub(r"\D", "", plain)[-10:])
    if re.fullmatch(r"\d{6}[-+A]\d{3}[\dA-Y]", plain):
        return True
    if re.fullmatch(r"[12]\d{14}", plain):
        return (97 - int(plain[:13]) % 97) == int(plain[13:])
    return False


def _is_bsn(text: str) -> bool:
    if not re.fullmatch(r"\d{9}", text) or text == "000000000":
        return False
    digits = [int(sign) for sign in text]
    return (sum(d * w for d, w in zip(digits, range(9, 1, -1), strict=False)) - digits[8]) % 11 == 0


def _is_uuid(text: str) -> bool:
    return re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text) is not None


def _is_network(text: str) -> bool:
    if re.fullmatch(r"([0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}", text):
        return True
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return "." in text or ":" in text


def _is_web(text: str) -> bool:
    return re.match(r"(?:[a-z][a-z+.-]{1,9}://|www\.)\S+$", text) is not None


def _is_name(text: str) -> bool:
    return (
        re.fullmatch(r"[^\W\d_][^\W\d_'’.-]*(?:[ ,]+[^\W\d_][^\W\d_'’.-]*){1,3}\.?", text) is not None
        and text[0].isupper()
    )


def _running(values: Sequence[str]) -> bool:
    """Whole numbers of which nearly all of a range are there."""
    if not all(value.isascii() and value.isdigit() and len(value) < 16 for value in values):
        return False
    numbers = list(map(int, values))
    return len(numbers) > 1 and max(numbers) - min(numbers) < 1.05 * len(numbers)


_CONTENT: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("e-mail addresses", _is_email),
    ("social security numbers", _is_social_security),
    ("national identity numbers", _is_national),
    ("national identity numbers", _is_bsn),
    ("bank accounts", _is_iban),
    ("payment cards", _is_card),
    ("telephone numbers", _is_phone),
    ("identifiers of records", _is_uuid),
    ("network addresses", _is_network),
    ("web addresses", _is_web),
)
