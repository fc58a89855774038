"""The patients of the papers: twelve records and four releases.

Sun, Wang, Li and Truta, "Enhanced p-sensitive k-anonymity models for privacy preserving data publishing",
2008, Tables 1 to 7. Row 8 of Table 7 is Obesity there; Table 1 has Heart Disease, which is used here.
"""

from __future__ import annotations

from pathlib import Path

from shoal.schema import Categories

FOLDER = Path(__file__).parent
COLUMNS = ("age", "country", "zip", "condition")
CATEGORIES = Categories(
    (("HIV", "Cancer"), ("Phthisis", "Hepatitis"), ("Heart Disease", "Asthma"), ("Flu", "Indigestion")),
    ("Top Secret", "Secret", "Less Secret", "Non Secret"),
)

PatientRows = tuple[tuple[str, str, str, str], ...]

_BY_ID = (
    "HIV", "HIV", "Cancer", "Cancer", "Hepatitis", "Phthisis", "Asthma", "Heart Disease", "Flu", "Flu", "Flu",
    "Indigestion",
)  # fmt: skip


def _publish(groups: dict[tuple[str, str, str], tuple[int, ...]]) -> PatientRows:
    """Build the rows of a release from its groups.

    The keys are the published quasi-identifiers of a group, the values its patients (1 to 12).
    """
    return tuple((*labels, _BY_ID[patient - 1]) for labels, patients in groups.items() for patient in patients)


TABLES: dict[int, PatientRows] = {
    1: tuple(
        (age, country, code, _BY_ID[index])
        for index, (age, country, code) in enumerate(
            (
                ("27", "USA", "14248"), ("28", "Canada", "14207"), ("26", "USA", "14246"), ("25", "Canada", "14249"),
                ("41", "China", "13053"), ("48", "Japan", "13074"), ("45", "India", "13064"), ("42", "India", "13062"),
                ("33", "USA", "14242"), ("37", "Canada", "14204"), ("36", "Canada", "14205"), ("35", "USA", "14248"),
            )
        )
    ),
    2: _publish(
        {
            ("<30", "America", "142**"): (1, 2),
            ("<30", "America", "1424*"): (3, 4),
            (">40", "Asia", "130**"): (5, 6, 7, 8),
            ("3*", "America", "1424*"): (9, 12),
            ("3*", "America", "142**"): (10, 11),
        }
    ),
    5: _publish(
        {
            ("<30", "America", "142**"): (1, 2, 3, 4),
            (">40", "Asia", "130**"): (5, 6, 7, 8),
            ("3*", "America", "142**"): (9, 10, 11, 12),
        }
    ),
    6: _publish(
        {
            ("<40", "America", "1424*"): (1, 4, 9, 12),
            (">40", "Asia", "130**"): (5, 6, 7, 8),
            ("<40", "America", "1420*"): (2, 3, 10, 11),
        }
    ),
    7: _publish(
        {
            ("<40", "America", "142**"): (1, 2, 3, 9),
            (">40", "Asia", "130**"): (5, 6, 7, 8),
            ("<40", "America", "14***"): (4, 10, 11, 12),
        }
    ),
}  # fmt: skip
