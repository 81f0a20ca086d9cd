"""Every other system of the paper's tables, a module each, with a function ``fit``.

Their names, hints and settings are in :data:`demalib.SOLVERS`.
"""
