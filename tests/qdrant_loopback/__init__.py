"""A stand-in for a Qdrant server, for machines that have none.

It speaks the REST calls that ``indexing/stores/qdrant.py`` makes, on a port of loopback, over
``qdrant_client``'s own local mode: the wire, the processes around it and the faults between
them are real, the engine behind it is not Qdrant's. What it holds is gone when it ends. Where
there is a server, name it in ``QDRANT_URL`` and the same tests ask it instead.

    python -m tests.qdrant_loopback --port 6333
"""
