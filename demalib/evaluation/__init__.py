"""Evaluation of maps: translation, word similarity, benchmark pairs, the paper's tables."""
