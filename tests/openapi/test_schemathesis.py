"""Thousands of generated requests, right and wrong, with keys of each scope: no answer is an error
of the server, and each is one that the OpenAPI document describes.

    STRATA_FAULT_LONG=1 python -m pytest tests/openapi/test_schemathesis.py    20,000 requests
"""

import json
from itertools import cycle, islice
from types import SimpleNamespace
from typing import Any

import pytest
import schemathesis
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.config import GenerationConfig
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.parameters import ParameterLocation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from access.grants import Scope
from access.models import ApiKey
from documents.serializers import NDJSON
from tests.faults.counts import IS_LONG
from tests.openapi.conftest import rolled_back

pytestmark = pytest.mark.filterwarnings("ignore")  # the generator's own

MIN_CASES = 20_000 if IS_LONG else 3_000
# Of the others, only a body that names several things that there are is right.
MIN_SUCCESSFUL_OPERATIONS = 90
CASES_EACH_WAY = 12 if IS_LONG else 5
# Each request is sent with the next key; in the long form, all are sent with each key.
ROLES = [[scope] for scope in Scope] if IS_LONG else [[*Scope, Scope.MANAGE]]
STRIDE = 1 if IS_LONG else 3  # from one request at a bound to the next that is sent
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
# A batch has a verdict for each line, even for a wrong one.
NOT_REJECTED_BY_STATUS = [negative_data_rejection]
MAX_FAILURES_SHOWN = 3  # of an operation


@schemathesis.serializer(NDJSON)
def write_line(ctx: Any, value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


# A part of a path -> the index that has what is asked for; else ``full``.
INDEX_BY_WORD = {
    "evidence/": "evidence",
    "builds": "plain",
    "structures": "pharmacy",
    "images": "gallery",
    "concepts": "knowledge",
    "relationship": "knowledge",
    "emergent": "knowledge",
    "blend": "knowledge",
    "route": "knowledge",
    "sources": "knowledge",
    "subgraph": "knowledge",
}


class TestGeneratedRequests:
    def test_are_answered_as_described(self, filled):
        secrets = {scope: ApiKey.issue(f"tests {scope}", scope=scope)[1] for scope in Scope}
        schema = schemathesis.openapi.from_wsgi("/api/schema/", get_wsgi_application())
        operations = [result.ok() for result in schema.get_all_operations()]
        # What a deletion takes from the vector store is not rolled back.
        operations.sort(key=lambda operation: operation.method == "delete")
        runs = [
            _Run(operation, filled, [secrets[scope] for scope in roles])
            for roles in ROLES
            for operation in operations
        ]

        for run in runs:
            with rolled_back():
                run.send_all()

        failed = {run.operation.label: run.failures for run in runs if run.failures}
        assert not failed, _describe(failed)
        assert sum(len(run.statuses) for run in runs) >= MIN_CASES
        succeeded = {run.operation.label for run in runs if run.has_succeeded}
        assert len(succeeded) >= MIN_SUCCESSFUL_OPERATIONS


class _Run:
    """The requests generated for one operation."""

    def __init__(self, operation: Any, filled: SimpleNamespace, secrets: list[str]) -> None:
        self.operation = operation
        self.statuses: list[int] = []
        self.failures: list[str] = []
        self._headers = cycle({"Authorization": f"Bearer {secret}"} for secret in secrets)
        words = (word for word in INDEX_BY_WORD if word in operation.path)
        self._index = INDEX_BY_WORD.get(next(words, ""), "full")
        known: dict[str, Any] = {name: str(value) for name, value in vars(filled).items()}
        known |= {"index": self._index, "name": "search_knowledge_base", "page_index": 0}
        names = operation.path_parameters
        self._path = {name: value for name, value in known.items() if name in names}
        excluded = NOT_REJECTED_BY_STATUS if operation.path.endswith("/batch") else ()
        self._checks = [check for check in CHECKS if check not in excluded]

    @property
    def has_succeeded(self) -> bool:
        return any(status < 300 for status in self.statuses)

    def send_all(self) -> None:
        """Requests at the bounds of the document, for what there is; then such requests, requests
        for anything and wrong ones, at random."""
        cases = self.operation.schema.iter_coverage_cases(
            self.operation,
            generation_modes=list(GenerationMode),
            generation_config=GenerationConfig(),
        )
        for case in islice(cases, None, None, STRIDE):
            if not case.meta.is_negative_at(ParameterLocation.PATH):
                case.path_parameters.update(self._path)
            self._send(self._make_answerable(case))
        make = self.operation.as_strategy
        positive, negative = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
        _generate(self._send, make(positive, path_parameters=self._path).map(self._make_answerable))
        _generate(self._send, make(positive))
        _generate(self._send, make(negative, path_parameters=self._path))

    def _send(self, case: Any) -> None:
        headers = next(self._headers)
        response = case.call(headers=headers)
        self.statuses.append(response.status_code)
        try:
            case.validate_response(response, checks=self._checks, headers=headers)
        except (Failure, FailureGroup) as failure:
            self.failures.append(f"{case.as_curl_command()}\n{failure}")

    def _make_answerable(self, case: Any) -> Any:
        """Name an index that there is, and give what the document cannot say is needed."""
        is_get = case.method == "GET"
        parameters = case.query if is_get else case.body
        is_search = "/search/" in case.path or case.path.endswith("/ask")
        if (
            case.meta.is_negative_at(ParameterLocation.QUERY if is_get else ParameterLocation.BODY)
            or not isinstance(parameters, dict)
            or not (is_search or "index" in parameters)
        ):
            return case
        parameters["index"] = self._index
        parameters.pop("filter", None)  # of fields that the index declares
        if is_search:
            parameters.pop("q", None)  # the same as ``query``
            parameters.pop("collection", None)  # the same as ``index``
            parameters.setdefault("query", "heron")
        return case


def _generate(send: Any, strategy: Any) -> None:
    settings(
        max_examples=CASES_EACH_WAY,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )(given(strategy)(send))()


def _describe(failures: dict[str, list[str]]) -> str:
    return "\n\n".join(
        f"--- {label}: {len(found)}\n" + "\n".join(found[:MAX_FAILURES_SHOWN])
        for label, found in failures.items()
    )
