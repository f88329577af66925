import uuid

import pytest
from django.db import connection

from access.grants import EVERYTHING
from indexing.stores import ScoredPoint
from retrieval.search.hit_checks import HitChecks
from retrieval.search.targets import Candidate, Target

pytestmark = pytest.mark.django_db

SQLITE_PARAMETERS = 32_766  # default limit of one SQLite statement


@pytest.mark.parametrize("kind", ["question", "page_summary", "concept", "compound"])
class TestHitChecks:
    def test_read_the_rows_of_twenty_builds_in_valid_statements(self, build, kind):
        targets = [
            Target("plain", build.pk + n, build.spec, (kind,), "any", EVERYTHING) for n in range(20)
        ]
        payload = {"kind": kind, "source_id": str(uuid.uuid4())}
        candidates = [
            Candidate(target, ScoredPoint(uuid.uuid4(), 1.0, payload))
            for target in targets
            for _ in range(2_000)  # a search for questions fetches up to 3,302
        ]
        counts = []

        def count_parameters(execute, sql, parameters, many, context):
            counts.append(len(parameters))
            return execute(sql, parameters, many, context)

        checks = HitChecks()
        with connection.execute_wrapper(count_parameters):
            checks.check(candidates)

        assert checks.orphans == {candidate.key for candidate in candidates}
        assert max(counts) <= SQLITE_PARAMETERS
