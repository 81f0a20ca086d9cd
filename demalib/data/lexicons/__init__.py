"""Bundled gold lexicons: see README.md here; ``build`` derives them."""
