"""The papers' experiments, run with shoal, each figure beside the paper's: one file per paper."""

__all__ = ["PAPERS"]

PAPERS = ("switching", "microaggregation", "identifiability", "enhanced_models", "anti_unification")
"""One file each."""
