"""Answers written from passages, each sentence with its citations.

quoting.py     an answer of the passages' own sentences
citing.py      which words of which passage the sentences of a written answer rest on
continuing.py  an answer that broke off, gone on with
"""
