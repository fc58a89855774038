"""Microaggregation: groups of near points, which publish their mean, range or most frequent value."""
