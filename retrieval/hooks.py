"""What optional apps register here when they start: how relationships that passages quote are
found."""

from collections.abc import Callable, Sequence

from access.grants import Grant
from retrieval.passages import AnswerContext, QuotedRelationship

# The question and the contexts of its answer -> visible relationships, the best first.
FindRelationships = Callable[[str, Sequence[AnswerContext], Grant], Sequence[QuotedRelationship]]

_finders: list[FindRelationships] = []


def register_quoted_relationships(find: FindRelationships) -> None:
    _finders.append(find)


def find_quoted_relationships(
    query: str, contexts: Sequence[AnswerContext], grant: Grant
) -> list[QuotedRelationship]:
    return [each for find in _finders for each in find(query, contexts, grant)]
