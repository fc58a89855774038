"""Grid releases with a differential identifiability guarantee."""
