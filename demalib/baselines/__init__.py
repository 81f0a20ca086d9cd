"""All other systems of the paper's tables, each a module with a function ``fit``.

Their names, hints and settings are in :data:`demalib.SOLVERS`.
"""
