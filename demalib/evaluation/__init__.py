"""Judge maps: translation with intervals, word similarity, known pairs, the paper's tables."""
