"""Explore an alignment word by word: data frames in ``words``, widgets in ``widgets``."""
