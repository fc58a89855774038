"""Disclosure risk: risk measures and attacks.

:mod:`shoal.audit.assess` and :mod:`shoal.audit.attack` are the entry points.
"""
