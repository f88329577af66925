"""Answers written from passages, each sentence with its citations.

quoting.py        answer with sentences quoted from the passages
citing.py         find the cited words for each sentence of an answer
relationships.py  what is said of the relationships that the passages quote
"""
