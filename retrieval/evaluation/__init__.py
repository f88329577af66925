"""Measuring what an index answers against human judgements, in ir_measures' notation.

judgements.py  queries and what answers them: BEIR folders, CSV files, the API's bodies
keeping.py     verdicts kept from real use, and the golden queries they become
systems.py     what can be measured: modes of search, query pipelines
measuring.py   systems ask every query; measures, milliseconds, and A against B
bootstrap.py   how far chance explains a difference
runs.py        measurements asked for, done on a queue, and kept
history.py     runs of the same queries over time
report/        a run as one page of HTML
"""

from retrieval.evaluation.judgements import (
    CorpusText,
    Judgements,
    read_corpus,
    read_judgements,
)
from retrieval.evaluation.measuring import DEFAULT_MEASURES, parse_measures

__all__ = [
    "DEFAULT_MEASURES",
    "CorpusText",
    "Judgements",
    "parse_measures",
    "read_corpus",
    "read_judgements",
]
