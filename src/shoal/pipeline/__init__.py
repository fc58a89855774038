"""Steps of a release: read, encode, decide, apply, verify, publish."""
