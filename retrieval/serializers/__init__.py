"""HTTP parameters of the read side (requests), and its rendered answers (answers)."""
