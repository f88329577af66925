"""Documents that are near copies of each other.

A MinHash of each document's words finds them; searches fold their passages without it
(``retrieval.search.versions``).
"""
