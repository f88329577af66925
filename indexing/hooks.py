"""What the apps above indexing register here when they start: texts to plan before nodes are
drafted, summaries to embed with chunks, boundaries at which chunks are cut, work that commands wait
for, and texts that could not be written."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from django.db.models import QuerySet

from documents.models import Artifact
from indexing.models import IndexBuild

# Index, ids of artifacts -> how many pieces of work are unfinished.
CountUnfinished = Callable[[str, Collection[UUID]], int]

_awaited_work: list[tuple[str, CountUnfinished]] = []


def register_awaited_work(label: str, count_unfinished: CountUnfinished) -> None:
    """Have commands that add documents wait for it too, and show it as ``label``."""
    _awaited_work.append((label, count_unfinished))


def list_awaited_work() -> Sequence[tuple[str, CountUnfinished]]:
    return _awaited_work


DescribeTexts = Callable[[str], str]
_describers: list[DescribeTexts] = []


def register_awaited_texts(describe: DescribeTexts) -> None:
    """Have commands that wait for an index show what ``describe`` says of it: a sentence, or an
    empty text."""
    _describers.append(describe)


def describe_awaited_texts(index: str) -> str:
    return " ".join(filter(None, (describe(index) for describe in _describers)))


InputPlanner = Callable[[UUID, IndexBuild], None]
_input_planners: list[InputPlanner] = []


def register_input_planner(planner: InputPlanner) -> None:
    """Call ``planner`` for each artifact before its nodes are drafted, in builds with generated
    texts. The planner marks the texts that must be written about the artifact as due."""
    _input_planners.append(planner)


def plan_inputs(artifact_id: UUID, build: IndexBuild) -> None:
    for planner in _input_planners:
        planner(artifact_id, build)


# Ids of artifacts -> artifact -> page -> its summary.
PageSummaryReader = Callable[[Collection[UUID], IndexBuild], Mapping[UUID, Mapping[UUID, str]]]
_page_summary_readers: list[PageSummaryReader] = []


def register_page_summary_reader(reader: PageSummaryReader) -> None:
    """Have chunks embedded with the summaries that ``reader`` gives, in builds that want them. A
    page without one is left out."""
    _page_summary_readers.append(reader)


def read_page_summaries(
    artifact_ids: Collection[UUID], build: IndexBuild
) -> Mapping[UUID, Mapping[UUID, str]]:
    found: dict[UUID, Mapping[UUID, str]] = {}
    for reader in _page_summary_readers:
        found |= reader(artifact_ids, build)
    return found


Boundaries = Mapping[str, Sequence[int]]  # SHA-256 of a source's text -> offsets in it


class Segmentations(Protocol):
    """Where a language model cuts sources; the other methods are as those of a ``Drafter``."""

    def read_boundaries(
        self, artifact_ids: Collection[UUID], build: IndexBuild
    ) -> Mapping[UUID, Boundaries]:
        """Artifact -> the boundaries in its sources, as far as they are written."""

    def find_unwritten(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]: ...

    def find_unwritable(self, artifact_ids: Collection[UUID], build: IndexBuild) -> set[UUID]: ...

    def rewrite_inputs(self, artifact: UUID, build: IndexBuild, *, only_failed: bool) -> int: ...


_segmentations: list[Segmentations] = []


def register_segmentations(segmentations: Segmentations) -> None:
    """Have chunks cut by these in builds whose recipe has the strategy ``llm``."""
    _segmentations.append(segmentations)


def get_segmentations(build: IndexBuild) -> Sequence[Segmentations]:
    """Those registered, if the build's chunks are cut by them."""
    return _segmentations if build.spec.chunks.llm is not None else ()


def read_boundaries(artifact_ids: Collection[UUID], build: IndexBuild) -> Mapping[UUID, Boundaries]:
    found: dict[UUID, Boundaries] = {}
    for segmentations in get_segmentations(build):
        found |= segmentations.read_boundaries(artifact_ids, build)
    return found


Fault = dict[str, str]  # ``code`` and ``detail``, as of a document's warnings
FindFaults = Callable[[QuerySet[Artifact]], Iterable[tuple[UUID, Fault]]]

_finders: list[FindFaults] = []


def register_text_faults(find_faults: FindFaults) -> None:
    _finders.append(find_faults)


def find_text_faults(artifacts: QuerySet[Artifact]) -> dict[UUID, list[Fault]]:
    """The faults of those of these artifacts that have any, in the live builds."""
    found: dict[UUID, list[Fault]] = defaultdict(list)
    for find_faults in _finders:
        for artifact_id, fault in find_faults(artifacts):
            found[artifact_id].append(fault)
    return dict(found)


RetryFailed = Callable[[QuerySet[Artifact]], int]
_retriers: list[RetryFailed] = []


def register_retry(retry: RetryFailed) -> None:
    """Have ``retry`` make due what failed of artifacts to try again, and return how much."""
    _retriers.append(retry)


def retry_registered_work(artifacts: QuerySet[Artifact]) -> int:
    return sum(retry(artifacts) for retry in _retriers)


def describe_text_faults(index: str) -> tuple[str, bool] | None:
    """Say how many documents of an index have faults, and whether texts are missing; None if no
    document has any."""
    found = find_text_faults(Artifact.objects.filter(index=index))
    faults = [fault for each in found.values() for fault in each]
    if not faults:
        return None
    missing = [fault for fault in faults if fault["code"].endswith("_missing")]
    first = (missing or faults)[0]["detail"]
    return (
        f"{index}: {len(found)} documents lack texts that a language model should write, or have "
        f"them from rules; the first: {first}",
        bool(missing),
    )
