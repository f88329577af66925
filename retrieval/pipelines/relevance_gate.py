"""Pipeline component that stops a question which has nothing to do with the index."""

from typing import Any

from haystack import component

from access.grants import EVERYTHING, Grant
from core.exceptions import InvalidInput
from indexing.spec import IndexSpec
from retrieval.passages import Refusal
from retrieval.pipelines.threads import add_run_async
from retrieval.questions.english.rules import find_identifier_spans
from retrieval.questions.relevance import is_relevant
from retrieval.search.targets import find_builds, make_targets, parse_recipe
