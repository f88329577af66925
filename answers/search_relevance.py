"""Tests whether an index is about the query of a search, as its query pipeline tests questions."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from django.conf import settings

from access.grants import Grant
from answers.exceptions import InvalidPipeline, UnknownPipeline
from answers.pipelines.declaring import read_declaration
from answers.relevance import RelevanceTest, has_all_words, join_relevance
from core.exceptions import InvalidInput
from retrieval.ledger import LiveBuild
from retrieval.relevance import Relevance
from retrieval.search.long_queries import find_question
from retrieval.search.multi_query import choose_passage_kind
from retrieval.search.query_vectors import NOTE_START
from retrieval.search.request import Mode
from retrieval.search.targets import find_builds, make_targets

_TESTING_COMPONENTS: Final = ("RelevanceGate", "FilterParser")


def judge_search(
    indexes: Sequence[str],
    query: str,
    grant: Grant,
    *,
    mode: Mode | str = Mode.HYBRID,
    filter: Mapping[str, Any] | None = None,
    has_vector: bool = False,
    notes: Sequence[str] = (),
) -> Relevance:
    """Whether passages that the filter leaves are about the query of a search, whose answer has
    these notes. A search that embeds no query, because it is by words only or has a vector, can
    tell no more than that a passage has all its words."""
    if not query:
        return Relevance(None)
    is_by_words = mode == Mode.SPARSE or any(note.startswith(NOTE_START) for note in notes)
    is_by_words |= has_vector
    builds = [build for build in find_builds(indexes, grant).values() if build is not None]
    texts = dict.fromkeys([find_question(query) or query, query])  # one of them is enough
    tested = [_judge(build, text, filter, is_by_words) for text in texts for build in builds]
    return join_relevance(tested)


def _judge(
    build: LiveBuild, query: str, filter: Mapping[str, Any] | None, is_by_words: bool
) -> Relevance:
    spec = build.spec
    test = _find_test(spec.search.pipeline, str(settings.STRATA_PIPELINES_DIR))
    kind = choose_passage_kind(build)
    if test is None or kind not in spec.kinds:
        return Relevance(None)
    [target] = make_targets([build], [kind], filter)
    if is_by_words:
        return Relevance(True if has_all_words(target, query) else None)
    return test.judge(target, query)


@lru_cache(maxsize=64)
def _find_test(pipeline: str, folder: str) -> RelevanceTest | None:
    """The test that this pipeline declares, read once as the pipeline itself is. None without one.
    ``folder`` is that of the user's pipelines."""
    try:
        components = read_declaration(pipeline).components.values()
        for component in components:
            if component.type_name in _TESTING_COMPONENTS:
                parameters = component.init_parameters
                return RelevanceTest(
                    parameters.get("min_similarity", 0.0),
                    tuple(parameters.get("languages") or ()),
                    parameters.get("embedding_model", ""),
                )
    except (UnknownPipeline, InvalidPipeline, InvalidInput, TypeError):
        pass  # questions and ``strata check`` report it
    return None
