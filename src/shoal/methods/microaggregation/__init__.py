"""Microaggregation: groups of near points.

Groups publish their mean, median, range, ancestor or most frequent value.
"""
