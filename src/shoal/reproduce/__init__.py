"""The papers' experiments, run with shoal, each figure beside the paper's: one file per paper."""
