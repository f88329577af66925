"""Read filters out of questions: years, people, names and marks (labels such as awards).

values.py       look up the people, names and marks that an index holds
clauses.py      the filter clauses of a question, and the topic that is left without them
english/        find clauses by rules for English: years, people, names, marks
llm_filters.py  find clauses with a language model and check them against the question
wordings.py     write other wordings of a question
"""
