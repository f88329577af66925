"""Imported last by the process that forks (``tests.forked``): garbage collection in its children
then passes over the libraries."""

import gc

gc.collect()
gc.freeze()
