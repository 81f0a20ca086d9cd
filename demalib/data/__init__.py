"""Vectors, dictionaries and maps on disk and in the registry: readers, writers, cache, downloads."""
