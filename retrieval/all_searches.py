"""The table of the searches of all apps; ``retrieval/urls.py`` makes their routes from it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils.module_loading import import_string

from access.grants import Grant
from core.apps import list_apps
from retrieval.hooks import judge_search
from retrieval.request_cache import keep_for_request
from retrieval.search import find_only_index
from retrieval.searches import Search
from retrieval.serializers import answers

SEARCHES: dict[str, Search] = {
    name: search
    for app in list_apps()
    if app.searches
    for name, search in import_string(app.searches).items()
}


@dataclass(frozen=True, slots=True)
class SearchResponse:
    content: dict[str, Any]
    stale_ids: Iterable[UUID]  # the caller enqueues planning for these


def load_retriever(name: str) -> Any:
    """Import the class of a search's retriever."""
    return import_string(SEARCHES[name].retriever)


def describe_queries(option: str) -> str:
    """What the query of some searches must be, which ``option`` names; after a sentence."""
    forms = ((name, search.query_form) for name, search in SEARCHES.items())
    return "".join(f"; {form} with {option} {name}" for name, form in forms if form)


def run_search(name: str, parameters: Any, grant: Grant) -> SearchResponse:
    """Run a search with the API's parameters and render its answer in the API's format. Raises as
    the retriever."""
    search = SEARCHES[name]
    fields = search.parameters.read(parameters)
    query = fields.pop("query", "")
    if "index" not in fields:
        fields["index"] = [find_only_index(grant, search.kinds)]
    with keep_for_request():
        answer = load_retriever(name)(**fields, grant=grant).search(query)
        content = search.render(answer)
        if search.finds_passages:
            relevance = judge_search(
                fields["index"],
                answer.text or query,
                grant,
                mode=fields["mode"],
                filter=fields.get("filter"),
                has_vector="vector" in fields,
                notes=answer.notes,
            )
            answers.add_relevance(content, relevance)
    return SearchResponse(content, answer.stale_ids)
