"""Searches concepts, relationship types and sources, which share one embedding space.

Scores are cosine similarities, or weighted ones; the amount of evidence never enters a score.
Every hit says how it was found.

    nearest.py    one query, embedded once, against nodes of several kinds
    concepts.py   concepts and relationship types by meaning
    passages.py   sources by their chunks, and sources like one another
    entries.py    the best entry point of a query; concepts found in several ways, blended
    graph.py      paths along like types, and the subgraph a query spans
    bridges.py    the sources between two concepts
    bearing.py    the passages that bear a concept: by nearness to a query, in their context
"""
