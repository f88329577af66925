"""Vectors of texts."""

from typing import Literal, TypeAlias

from typing_extensions import TypedDict

InputType: TypeAlias = Literal["query", "passage"]


class Embeddings(TypedDict):
    index: str
    model: str
    dimension: int
    input_type: InputType
    """Whether the texts were embedded as searches embed a query, or as documents."""
    vectors: list[list[float]]
    """In the order of the texts."""
    truncated: list[int]
    """Positions of the texts of which the model has read only the beginning, counted from 0."""
