"""Searches concepts, relationship types and sources, which share one embedding space.

Scores are cosine similarities, or weighted ones; the number of quotes never enters a score.
Every hit says how it was found. What embeds a query or reads points raises as
``IndexRetriever.search``.

    query.py      one query, embedded once, against nodes of several kinds
    concepts.py   concepts and relationship types by meaning; the quotes of a concept, by
                  similarity to a query and in their context
    sources.py    sources by their chunks, similar sources, and the vectors of nodes
    routing.py    the best entry point of a query; concepts found in several ways, blended
    shared.py     what several concepts share
    graph.py      relationship paths by type similarity, and the subgraph around a query
    emergent.py   pairs of similar concepts, below the similarity from which pairs are stored, and
                  the sources that bridge a pair
"""
