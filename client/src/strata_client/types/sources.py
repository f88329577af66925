"""Sources: the parts of a document that chunks are cut from."""

from typing import TypedDict

from strata_client.types.searches import HitArtifact, HitPage


class Neighbour(TypedDict):
    """A source before or after another."""

    id: str
    ordinal: int
    heading: str
    text: str
    page: HitPage


class SourceArtifact(HitArtifact):
    index: str


class SourcePage(HitPage):
    label: str


class SourceChunk(TypedDict):
    node_id: str
    strategy: str
    chunk_index: int | None
    start_offset: int
    end_offset: int
    state: str


class Source(TypedDict):
    id: str
    ordinal: int  # within its artifact, counted from 0
    heading: str
    text: str
    start: int  # in the page's text
    end: int
    content_hash: str | None
    artifact: SourceArtifact
    page: SourcePage
    chunks: list[SourceChunk]
    neighbours: list[Neighbour]
