"""Services of the process: threads, signals, progress, validation of fields, plugin registry, scratch folders."""
