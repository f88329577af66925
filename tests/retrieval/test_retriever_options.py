"""A retriever refuses the options of a search that it does not follow."""

import inspect
from dataclasses import fields

import pytest

from concepts import retrievers as of_concepts
from retrieval import retrievers
from retrieval.retrievers import IndexRetriever
from retrieval.search import SearchOptions

NAMES = {field.name for field in fields(SearchOptions)}
CLASSES = [
    each
    for module in (retrievers, of_concepts)
    for _, each in inspect.getmembers(module, inspect.isclass)
    if issubclass(each, IndexRetriever) and not inspect.isabstract(each)
]
REFUSED = [
    (each, name)
    for each in CLASSES
    for name in sorted(NAMES - each.takes)
    if name not in inspect.signature(each).parameters  # an argument of the retriever's own
]


@pytest.mark.parametrize("retriever", CLASSES)
def test_takes_only_options_that_exist(retriever):
    assert retriever.takes <= NAMES


@pytest.mark.parametrize(("retriever", "name"), REFUSED)
def test_refuses_other_options(retriever, name):
    with pytest.raises(TypeError, match=f"does not take {name}; its search options are .*limit"):
        retriever("plain", **{name: getattr(SearchOptions(), name)})


@pytest.mark.parametrize(
    ("retriever", "name"),
    [
        (of_concepts.ConceptRetriever, "filter"),
        (retrievers.HierarchicalRetriever, "min_score"),
        (retrievers.QueriesRetriever, "min_revision"),
        (retrievers.RecursiveChunkRetriever, "offset"),
    ],
)
def test_refuses_an_option_that_would_change_nothing_or_something_else(retriever, name):
    assert (retriever, name) in REFUSED
