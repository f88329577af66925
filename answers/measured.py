"""Query pipelines as evaluations measure them."""

from collections.abc import Collection, Sequence

from answers.asking import AskRequest
from answers.pipelines.declaring import find_pipeline_files
from retrieval.search import Hit


class MeasuredPipelines:
    """They find hits and write no answer. Implements ``retrieval.hooks.QueryPipelines``."""

    def list_names(self) -> Collection[str]:
        return find_pipeline_files()

    def find_hits(
        self, index: str, query: str, *, pipeline: str, limit: int
    ) -> tuple[Sequence[Hit], Sequence[str]]:
        from answers.pipelines.running import find_hits

        question = AskRequest(
            index=index, query=query, limit=limit, pipeline=pipeline, wants_answer=False
        )
        found = find_hits(question)
        return [passage.hit for passage in found.passages], found.notes
