"""What a release lost, and what it is still good for; a release beside its original: :mod:`shoal.audit.compare`."""
