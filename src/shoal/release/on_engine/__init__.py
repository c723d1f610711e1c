"""A release on an engine: the same recipe over files or frames that don't fit in memory, made where the rows lie."""
