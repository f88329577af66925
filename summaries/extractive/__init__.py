"""What is written where no language model is: a text's own sentences, phrases and values.

Nothing is invented and nobody is asked: the same text gives the same answer. No model, table or
queue is known here; sentences are embedded by a function the caller hands in.

    sentences -> centrality -> summarising          languages -> phrases -> questions
              -> lines                              values
"""

from summaries.extractive.lines import name_line
from summaries.extractive.questions import propose_questions
from summaries.extractive.sentences import CitedSentence
from summaries.extractive.summarising import Embed, summarise_many, summarise_text
from summaries.extractive.values import match_values

__all__ = [
    "CitedSentence",
    "Embed",
    "match_values",
    "name_line",
    "propose_questions",
    "summarise_many",
    "summarise_text",
]
