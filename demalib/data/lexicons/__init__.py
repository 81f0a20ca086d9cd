"""Bundled gold lexicons, described in README.md and derived by ``build``."""
