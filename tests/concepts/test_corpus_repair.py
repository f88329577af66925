"""The corpus after a source has changed, and after its repair."""

import pytest

from concepts.models import Instance
from concepts.quotes import relocate_quotes
from documents.models import Source
from indexing.models import Node
from indexing.services import plan_nodes, sync_nodes
from tests.concepts.corpus import Corpus
from tests.concepts.test_corpus import ask, make_surveyed_corpus, proofs  # noqa: F401


@pytest.fixture
def corpus(knowledge) -> Corpus:
    return make_surveyed_corpus(knowledge)


class TestCorpus:
    def test_marks_only_the_hits_of_a_changed_source_as_stale_and_repairs_them(
        self,
        corpus,
        ask,  # noqa: F811
    ):
        flipped = corpus.source(30, 2)
        Source.objects.filter(pk=flipped.pk).update(text=flip(flipped.text))

        before = self._verdicts(corpus, ask)
        plan_nodes(flipped.artifact_id, corpus.build)  # updates the source's hash
        relocate_quotes(flipped.artifact_id)
        while sync_nodes(corpus.build):
            pass
        after = self._verdicts(corpus, ask)

        chunks = Node.objects.filter(source=flipped, kind="chunk").values_list("pk", flat=True)
        assert len(chunks) == 1
        assert before == {"stale": {str(flipped.pk)}, "exact": before["exact"]}
        assert len(before["exact"]) > 100
        assert after == {"exact": before["exact"] | {str(flipped.pk)}}

    def _verdicts(self, corpus, ask) -> dict[str, set[str]]:  # noqa: F811
        """Verdict -> the sources that have it, over all passages and quotes.

        Left out are sources that no concept quotes: near misses of equal score fill the end of a
        list of 100 hits, and which of them do so changes with the order of the points.
        """
        quoted = {str(pk) for pk in Instance.objects.values_list("source", flat=True)}
        found: dict[str, set[str]] = {}
        for query in ("closing mentions once more beside harvest", "opening tells how study begun"):
            answer = ask("search/sources", query=query, limit=100, include_concepts=True)
            for source_id, _, _, _, verdict in proofs(answer):
                if source_id in quoted:
                    found.setdefault(verdict, set()).add(source_id)
        ids = Instance.objects.values_list("concept", flat=True).distinct()
        for concept_id in ids:
            for source_id, _, _, _, verdict in proofs(ask(f"concepts/{concept_id}/evidence")):
                found.setdefault(verdict, set()).add(source_id)
        return found


def flip(text: str) -> str:
    """Change one character outside quotes, and with it the hash."""
    assert text.endswith("30.")
    return f"{text[:-1]}!"
