"""Material for lessons: a toy world in the plane, and the formulas of the paper's released code."""
