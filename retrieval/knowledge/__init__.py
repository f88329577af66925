"""Searches concepts, relationship types and sources, which share one embedding space.

Scores are cosine similarities, or weighted ones; the amount of evidence never enters a score.
Every hit says how it was found.

    query.py      one query, embedded once, against nodes of several kinds
    concepts.py   concepts and relationship types by meaning
    sources.py    sources by their chunks, and sources like one another
    routing.py    the best entry point of a query; concepts found in several ways, blended
    graph.py      paths along like types, and the subgraph a query spans
    bridges.py    the sources between two concepts
    concept_evidence.py  the quotes of a concept: by nearness to a query, and in their context
"""
