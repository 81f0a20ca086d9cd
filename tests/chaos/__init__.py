"""Bad input, kills, full disks and long runs, by the thousand: ``make chaos``.

Everything is drawn from one seed, which the table names: the same seed, the same inputs.
"""
