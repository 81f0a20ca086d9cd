"""``make bench``, or ``python -m bench [part...]`` in ``tests``: ratios measured in one run.

Every part times its candidates in turn on the same data, so that a noisy machine disturbs all of
them equally. The figures go to ``results/bench/bench.json``.
"""
