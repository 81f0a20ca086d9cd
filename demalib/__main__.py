"""``python -m demalib``."""

import sys

from demalib.cli import main

sys.exit(main())
