"""Vectors, dictionaries and maps: readers, writers, cache and downloads."""
