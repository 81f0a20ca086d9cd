"""Every other system of the paper's tables, a module each, with a function ``fit``.

What they are called, learn from and ask for is in :data:`demalib.SOLVERS`.
"""
