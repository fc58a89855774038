"""Public functions of ``import shoal``, one for each command."""
