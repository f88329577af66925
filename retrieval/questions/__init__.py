"""What a question says besides its topic: the filters people put into their sentences.

words.py      a question's words, each with its place
values.py     the people, names and marks an index knows
clauses.py    what was read out, as one filter, and what remains to be searched
years.py      "since 2019", "the 1990s"
people.py     "by Ada Lovelace", "Manning's papers"
names.py      "at ACL", "EMNLP 2020 papers"
marks.py      "award-winning"
rules.py      all of these, in turn
model.py      what a language model reads, held against the question
relevance.py  whether an index has anything to say at all
"""
