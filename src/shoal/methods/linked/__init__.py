"""Recoding of linked tables: root groups, levels of facts, left-out facts."""
