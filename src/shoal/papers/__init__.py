"""Experiments of the papers, reproduced with shoal: one module each."""

PAPERS = ("switching", "microaggregation", "identifiability", "enhanced_models", "anti_unification")
"""The names of the modules."""
