"""Hierarchies of Adult's quasi-identifiers with the heights of the papers.

Table 9 of Sun, Wang, Li and Truta, "Enhanced p-sensitive k-anonymity models for privacy preserving data publishing",
2008, gives the height of each hierarchy and not the hierarchy itself. Gender has two values and height 2, so a height
is read as the number of levels, the value and `*` included. The table counts eight work classes; the complete records
have seven, for nobody who never worked has an occupation.
"""

from __future__ import annotations

from shoal.schema import Flat, Hierarchy, Tree, Widths

HEIGHTS = {
    "age": 5, "workclass": 3, "education": 4, "native-country": 3, "marital-status": 3, "race": 3, "sex": 2,
}  # fmt: skip
"""The heights of Table 9, read as numbers of levels."""
HIERARCHIES: dict[str, Hierarchy] = {
    "age": Widths((5, 10, 20)),
    "workclass": Tree(
        {
            "Private": ["Private"],
            "Self-employed": ["Self-emp-not-inc", "Self-emp-inc"],
            "Government": ["Federal-gov", "Local-gov", "State-gov"],
            "Unpaid": ["Without-pay", "Never-worked"],
        }
    ),
    "education": Tree(
        {
            "No-college": {
                "Primary": ["Preschool", "1st-4th", "5th-6th", "7th-8th"],
                "Some-secondary": ["9th", "10th", "11th", "12th"],
                "Secondary": ["HS-grad"],
            },
            "College": {
                "Some-tertiary": ["Some-college", "Assoc-voc", "Assoc-acdm"],
                "Bachelor": ["Bachelors"],
                "Postgraduate": ["Masters", "Prof-school", "Doctorate"],
            },
        }
    ),
    "native-country": Tree(
        {
            "North-America": ["United-States", "Canada", "Outlying-US(Guam-USVI-etc)", "Puerto-Rico"],
            "Latin-America": [
                "Mexico", "Cuba", "Jamaica", "Honduras", "Haiti", "Dominican-Republic", "El-Salvador", "Guatemala",
                "Nicaragua", "Columbia", "Ecuador", "Peru", "Trinadad&Tobago",
            ],
            "Asia": [
                "India", "Japan", "China", "Iran", "Philippines", "Vietnam", "Taiwan", "Laos", "Cambodia", "Thailand",
                "Hong", "South",
            ],
            "Europe": [
                "England", "Germany", "Greece", "Italy", "Poland", "Portugal", "Ireland", "France", "Hungary",
                "Scotland", "Yugoslavia", "Holand-Netherlands",
            ],
        }
    ),
    "marital-status": Tree(
        {
            "Married": ["Married-civ-spouse", "Married-AF-spouse", "Married-spouse-absent"],
            "Was-married": ["Divorced", "Separated", "Widowed"],
            "Never-married": ["Never-married"],
        }
    ),
    "race": Tree(
        {"White": ["White"], "Non-white": ["Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"]}
    ),
    "sex": Flat(),
}  # fmt: skip
