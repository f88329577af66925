"""A stand-in for a Qdrant server, for machines that have none.

It answers the REST calls of ``indexing/stores/qdrant.py`` on a loopback port with the local mode of
``qdrant_client``: HTTP, processes and faults are real, the engine is not Qdrant's. Its data is in
memory. If ``QDRANT_URL`` names a server, the tests use that instead.

    python -m tests.qdrant_loopback --port 6333
"""
