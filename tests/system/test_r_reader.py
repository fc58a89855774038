"""R as a reader of releases: it finds the groups of the certificate.

``read.csv`` reads texts such as NA as missing; a release warns of sensitive columns with such texts.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
import subprocess

import pytest

import shoal

R_SCRIPT = r"""
arguments <- commandArgs(trailingOnly = TRUE)
path <- arguments[1]
table <- switch(
  tools::file_ext(path),
  csv = if (arguments[2] == "as text") read.csv(path, colClasses = "character", na.strings = "", encoding = "UTF-8")
        else read.csv(path, encoding = "UTF-8"),
  sav = haven::as_factor(haven::read_sav(path)),
  dta = haven::as_factor(haven::read_dta(path)))
quasi <- strsplit(arguments[3], ",")[[1]]
key <- do.call(paste, c(lapply(table[quasi], function(column) ifelse(is.na(column), "<missing>",
                                                                    paste0("=", as.character(column)))), sep = "\r"))
size <- table(key)
secret <- as.character(table[[arguments[4]]])
secret[secret == ""] <- NA
distinct <- tapply(secret, key, function(values) length(unique(values[!is.na(values)])))
cat(sprintf('{"released": %d, "groups": %d, "smallest_group": %d, "p": %d}', nrow(table), length(size), min(size),
            min(distinct)))
"""
QUASI = ("zip", "town", "born", "weight")
ILLNESSES = ("flu", "asthma, severe", 'the "blues"', "Größe", "gout", "HIV")


@pytest.fixture(scope="module")
def rscript():
    program = shutil.which("Rscript")
    if program is None:
        pytest.skip("R is not installed: Rscript was not found")
    return program


def read_by_r(program, path, how="as text"):
    if path.suffix != ".csv":
        found = subprocess.run([program, "-e", "library(haven)"], capture_output=True, check=False)
        if found.returncode:
            pytest.skip("the R package haven is not installed")
    command = [program, "--vanilla", "-e", R_SCRIPT, path, how, ",".join(QUASI), "illness"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write_source(path, illnesses):
    chance = random.Random(4)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*QUASI, "illness"])
        for _ in range(300):
            zip_code = f"0{chance.randint(1000, 1040)}"
            born = f"19{chance.randint(50, 99)}-0{chance.randint(1, 9)}-11"
            town = chance.choice(["Köln", "St. Ives, Cambs", "", "Paris"])
            writer.writerow([zip_code, town, born, chance.randint(40, 110), chance.choice(illnesses)])


def release_as(folder, suffix, illnesses=ILLNESSES, method="mondrian"):
    write_source(folder / "people.csv", illnesses)
    columns = {name: {"role": "quasi-identifier"} for name in QUASI}
    columns["born"]["hierarchy"] = {"dates": ["month", "year"]}
    columns["zip"]["hierarchy"] = {"prefix": True}
    plan = {
        "source": {"path": str(folder / "people.csv")},
        "columns": {**columns, "illness": {"role": "sensitive"}},
        "models": ["k-anonymity k=4", "p-sensitive p=2"],
        "method": {"name": method},
        "output": {"path": str(folder / f"released{suffix}")},
    }
    return shoal.release(plan)


def figures(release):
    answer = release.to_dict()
    (p,) = (model["effective"]["p"] for model in answer["models"] if model["name"] == "p-sensitive")
    return {key: answer[key] for key in ("released", "groups", "smallest_group")} | {"p": p}


@pytest.mark.parametrize("suffix", [".csv", ".sav", ".dta"])
@pytest.mark.parametrize("method", ["mondrian", "local-suppression"])
def test_r_finds_the_groups_of_the_certificate(rscript, tmp_path, suffix, method):
    release = release_as(tmp_path, suffix, method=method)
    assert read_by_r(rscript, release.path) == figures(release)


def test_default_types_of_r_merge_no_groups(rscript, tmp_path):
    """Groups keep their sizes where R drops the zeros of 01000."""
    release = release_as(tmp_path, ".csv")
    assert read_by_r(rscript, release.path, "by default") == figures(release)


def test_texts_that_r_reads_as_missing_are_warned_of(rscript, tmp_path):
    release = release_as(tmp_path, ".csv", ("NA", "flu", "NA", "NA"))
    assert figures(release)["p"] == 2
    assert read_by_r(rscript, release.path, "by default")["p"] < 2
    assert "read-as-missing" in {warning["code"] for warning in release.warnings}
