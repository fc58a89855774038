"""Tiers of sixty columns in six languages, half of them abbreviated."""

from __future__ import annotations

import pyarrow as pa
import pytest

from shoal.advice.profile import profile as profile_table

ROWS = 240


def spread(*values):
    """Repeat values over all rows, the first most often."""
    weights = [value for position, value in enumerate(values) for _ in range(len(values) - position)]
    return [weights[(7 * n) % len(weights)] for n in range(ROWS)]


def numbers(low, high, step=1.0):
    """Numbers between two bounds, in no order."""
    count = max(2, round((high - low) / step))
    return [round(low + step * ((n * 7919) % count), 4) for n in range(ROWS)]


def money(low, high):
    """Amounts with cents, most of them low."""
    return [round(low + (high - low) * ((n * 7919) % ROWS / ROWS) ** 3, 2) for n in range(ROWS)]


YES = spread("0", "1")
CASES = [
    # English
    ("maiden", [f"Miller{n}" for n in range(ROWS)], "names"),
    ("DRIVERS_LIC", [f"S{99900000 + 37 * n}" for n in range(ROWS)], "names"),
    ("sbp", numbers(90, 190), "sensitive"),
    ("MARSTAT", spread("married", "single", "divorced", "widowed"), "visible"),
    ("ethgrp", spread("White", "Black", "Asian", "Mixed"), "visible"),
    ("hhincome", money(8000, 90000), "sensitive"),
    ("dx1", spread("I10", "E11.9", "J45.0", "F32.1", "C50.9"), "sensitive"),
    ("q17_med", spread("atorvastatin", "metformin", "lisinopril", "omeprazole"), "sensitive"),
    ("birthplace", spread("Leeds", "York", "Hull", "Bath"), "visible"),
    ("partyid", spread("Democrat", "Republican", "Independent"), "sensitive"),
    ("gpa", numbers(1, 4, 0.1), "sensitive"),
    ("pweight", [round(100 + n * 3.1417, 5) for n in range(ROWS)], "technical"),
    ("newspaper", spread("daily", "never", "weekly"), "private"),
    ("heartattack", YES, "sensitive"),
    ("occup", spread("farmer", "nurse", "clerk", "driver"), "visible"),
    ("admit_dt", [f"{1 + n % 28:02}-01-2015" for n in range(ROWS)], "visible"),
    ("num_store_visits", numbers(0, 14), "private"),
    ("job_satisf", spread("1", "2", "3", "4", "5"), "private"),
    ("qzx", spread("a", "b", "c"), "unknown"),
    # German
    ("KFZ_Kennz", [f"B-XY {100 + n}" for n in range(ROWS)], "names"),
    ("Wohnort", spread("Kiel", "Jena", "Ulm"), "visible"),
    ("Konf", spread("evangelisch", "katholisch", "keine"), "sensitive"),
    ("Bruttoeink", money(900, 9000), "sensitive"),
    ("Schulabschl", spread("Hauptschule", "Realschule", "Abitur"), "visible"),
    ("gew_faktor", [round(0.2 + n * 0.0137, 5) for n in range(ROWS)], "technical"),
    ("Fam_Stand", spread("ledig", "verheiratet", "geschieden"), "visible"),
    ("Blutdruck_sys", numbers(95, 180), "sensitive"),
    ("Staatsang", spread("Deutschland", "Polen", "Italien"), "visible"),
    ("Freizeit_Kino", spread("nie", "oft", "selten"), "private"),
    ("Hundefarbe", spread("schwarz", "braun", "weiss"), "visible"),
    ("Strafmass", spread("Geldstrafe", "Haft"), "sensitive"),
    # French
    ("nom_jf", [f"Durand{n}" for n in range(ROWS)], "names"),
    ("nivetud", spread("Primaire", "Secondaire", "Superieur"), "visible"),
    ("relig", spread("Catholique", "Musulmane", "Sans religion"), "sensitive"),
    ("sitmat", spread("marie", "celibataire", "divorce", "veuf"), "visible"),
    ("rev_menage", money(500, 8000), "sensitive"),
    ("poids_ind", [round(300 + n * 13.77, 4) for n in range(ROWS)], "technical"),
    ("peche.chasse", spread("Non", "Oui"), "private"),
    ("dep_nais", spread("75", "13", "69", "33"), "visible"),
    ("syndique", spread("Non", "Oui"), "sensitive"),
    ("qualif", spread("Ouvrier", "Employe", "Cadre"), "visible"),
    # Spanish
    ("num_dni", [f"{10000000 + 7 * n}" for n in range(ROWS)], "names"),
    ("edad", numbers(18, 90), "visible"),
    ("estudios", spread("Primaria", "Bachillerato", "Universitarios"), "visible"),
    ("sit_lab", spread("ocupado", "parado", "jubilado"), "visible"),
    ("recuvoto", spread("PP", "PSOE", "VOX", "no voto"), "sensitive"),
    ("ingnetos", money(600, 5000), "sensitive"),
    ("ccaa", spread("Madrid", "Galicia", "Murcia"), "visible"),
    ("enferm_cron", spread("No", "Si"), "sensitive"),
    # Portuguese
    ("escolarid", spread("Fundamental", "Medio", "Superior"), "visible"),
    ("raca_cor", spread("branca", "preta", "parda"), "visible"),
    ("renda_fam", money(400, 9000), "sensitive"),
    ("uf_resid", spread("SP", "RJ", "MG", "BA"), "visible"),
    ("doenca", spread("hipertensao", "asma", "nenhuma"), "sensitive"),
    # Italian
    ("cod_fisc", [f"RSSMRA{n % 90 + 10}T10A{n % 900 + 100}S" for n in range(ROWS)], "names"),
    ("titstu", spread("licenza media", "diploma", "laurea"), "visible"),
    ("stciv", spread("celibe", "coniugato", "vedovo"), "visible"),
    ("redd_annuo", money(4000, 60000), "sensitive"),
    ("tempo_libero", spread("sport", "cinema", "lettura"), "private"),
    ("invalidita", spread("no", "si"), "sensitive"),
    ("peso_camp", [round(50 + n * 1.377, 4) for n in range(ROWS)], "technical"),
]


def test_there_are_sixty():
    assert len(CASES) >= 60


@pytest.mark.parametrize(("name", "values", "tier"), CASES, ids=[name for name, _, _ in CASES])
def test_a_column_is_understood_by_its_name_and_its_values(name, values, tier):
    table = pa.table({name: [str(value) for value in values], "zzq": [str(n % 3) for n in range(ROWS)]})
    found = profile_table(table).columns[0]
    assert found.tier == tier, found.reason
