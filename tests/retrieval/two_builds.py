"""Two builds of one index: the live one, and a new one that is as good or much worse."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from documents.models import Artifact
from indexing.models import IndexBuild
from indexing.services import store_search_settings
from indexing.spec import IndexSpec, dump_recipe
from tests.factories import give, sync

# Vectors of two dimensions and no sparse ranking: hits are almost random.
BLIND: Mapping[str, Any] = {
    "embedding": {"model": "blind", "dimension": 2},
    "search": {"sparse_weight": 0},
}
COUNT = 24


def fill(build: IndexBuild, count: int = COUNT) -> list[Artifact]:
    """Add documents with different words to the live build; the external id of the n-th is
    ``d<n>``."""
    artifacts = [
        give(
            f"The bird kel{n} nests on the isle mor{n}. It feeds on tam{n}.",
            title=f"Note {n}",
            external_id=f"d{n}",
            index=build.index_id,
        )
        for n in range(count)
    ]
    sync(build, *artifacts)
    return artifacts


def begin_build(live: IndexBuild, *, is_synced: bool = True, **changes: Any) -> IndexBuild:
    """Start a new build with these changes to the spec, to be promoted once it is complete."""
    spec = IndexSpec.model_validate({**live.spec.model_dump(mode="json"), **changes})
    store_search_settings(live.index, spec)
    build = IndexBuild.objects.create(
        index=live.index,
        number=live.index.next_build_number(),
        recipe=dump_recipe(spec),
        fingerprint=spec.fingerprint,
        promotion=IndexBuild.Promotion.WHEN_COMPLETE,
    )
    if is_synced:
        sync(build, *Artifact.objects.filter(index=live.index_id))
    return build


def write_golden_queries(folder: Path, count: int = COUNT, **documents: str) -> None:
    """Write golden queries: one for each document of ``fill``, or the given query -> document."""
    answers = documents or {f"kel{n} tam{n}": f"d{n}" for n in range(count)}
    (folder / "qrels").mkdir(parents=True)
    queries = [{"_id": f"q{n}", "text": text} for n, text in enumerate(answers)]
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)))
    rows = [f"q{n}\t{document}\t1" for n, document in enumerate(answers.values())]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))
