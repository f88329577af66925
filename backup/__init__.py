"""Backups: a folder with every row, every original file and every vector of an installation.

It holds nothing of SQLite, PostgreSQL or a vector store, so a backup of the embedded form can be
restored on servers, and the other way round.
"""
