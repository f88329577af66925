"""The web pages: a folder for each, with its template, script and style.

A page holds no rules and no data: its script asks the API, with the reader's key or session.
"""
