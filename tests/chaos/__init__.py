"""Bad input, kills, full disks and long runs, by the thousand: ``make chaos``.

Everything is drawn from one seed, which the table names: the same seed, the same inputs.
"""

import os

MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # files there are written at once
