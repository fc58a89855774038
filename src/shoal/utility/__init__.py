"""What a release lost."""
