"""Rules that write summaries and field values without a language model.

They select sentences and values of the text itself, and are deterministic. They use no
database; the caller passes the function that embeds sentences.
"""

from summaries.extractive.summarising import summarise_in_one_line, summarise_texts
from summaries.extractive.values import match_field_values
