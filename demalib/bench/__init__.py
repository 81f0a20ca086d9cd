"""``python -m demalib.bench [part...]``: what costs what, as ratios measured in one run.

Every part times rivals in turn on the same data, so that a noisy machine disturbs them alike.
The figures go to ``results/bench/bench.json``.
"""
