"""The steps of a release, in order: read, encode, decide, apply, verify, publish."""
