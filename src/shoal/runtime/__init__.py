"""Services of the process.

They are threads, signals, progress, validation of fields, the plugin registry and scratch folders.
"""
