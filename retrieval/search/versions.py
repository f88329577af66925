"""Folds what repeats a passage into one hit: earlier versions of its document, and copies.

Two passages are of two versions if their documents have the same title and name but for marks such
as ``v2`` or ``draft``, or for the field of the spec that orders versions, and their words are
nearly the same, whatever their numbers. The newest version is the hit.

A passage is a copy if other passages hold all of its sentences, word for word. One that differs in
a single number is none. The hit is the passage of the shorter document, else of the newer one: a
binder repeats documents, and is not what they are found by.

Only what a request may see is compared and counted.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import PurePath
from typing import Any, NamedTuple

from documents.models import Artifact
from retrieval.search.request import Versions
from retrieval.search.targets import Candidate, Folded, get_passage_text

FOLDING_DEPTH = 50  # first passages of a ranking, among which the newest version is looked for
SHINGLE_WORDS = 3
MIN_SHARED = 0.6  # of the shingles of two passages, without their numbers, if they are versions
MIN_COPY_WORDS = 30  # of a copy: shorter passages say other things in other documents
BINDER_LENGTHS = 1.5  # a document so many times as long as another is not what is copied

_ONE_MARK = (
    r"(?:(?:v|ver|version|rev|revision|edition)\W*\d+(?:\.\d+)*|(?:rev|revision|version)\W+[a-z]"
    r"|draft|final|copy|archived|obsolete|superseded)\b"
)
# At the end of a name, where what is called V8 is no version.
_MARKS = re.compile(rf"(?<!\w){_ONE_MARK}(?:\W+(?:{_ONE_MARK}|\d+\b))*\W*$", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+|\n+")
_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")


class _Passage:
    def __init__(self, rank: int, candidate: Candidate) -> None:
        self.rank = rank
        self.candidate = candidate
        self.payload = payload = candidate.point.payload
        self.artifact_id = str(payload.get("artifact_id"))
        self.text = get_passage_text(payload)
        self.place = candidate.target.build_id, payload.get("kind")

    @cached_property
    def sentences(self) -> frozenset[str]:
        return _list_sentences(self.text)

    @cached_property
    def letters(self) -> str:
        """The text, whatever its case and white space."""
        return "".join(self.text.casefold().split())

    @cached_property
    def shingles(self) -> frozenset[tuple[str, ...]]:
        """Words that follow each other; all numbers are alike."""
        words = _WORD.findall(_DIGITS.sub("0", self.text.casefold()))
        rows = zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False)
        return frozenset(rows) or frozenset({tuple(words)})

    @cached_property
    def version(self) -> Any:
        """The value of the field by which the spec orders versions; None without one. Documents
        may hold values of other types from before it was declared."""
        field = self.candidate.target.spec.search.versions_by
        value = (self.payload.get("metadata") or {}).get(field)
        return value if isinstance(value, int | float | str) else None

    @cached_property
    def lineage(self) -> tuple[Any, ...] | None:
        """What all versions of its document have in common; None if nothing says that it is of
        one."""
        title = self.payload.get("artifact_title") or ""
        if self.version is not None:
            return *self.place, strip_marks(title)
        name = self.payload.get("external_id") or self.payload.get("file_name") or ""
        names = _find_common_names(title, name)
        return names and (*self.place, *names)

    def is_like(self, other: "_Passage") -> bool:
        """Whether the words of both are nearly the same."""
        shared = len(self.shingles & other.shingles)
        return shared >= MIN_SHARED * len(self.shingles | other.shingles)


@dataclass(slots=True)
class _Group:
    """Passages of which one is the hit: versions, the best first, or one and its copies."""

    passages: list[_Passage]
    copies: list[_Passage] = field(default_factory=list)
    rank: int = 0

    @property
    def sentences(self) -> frozenset[str]:
        return frozenset().union(*(each.sentences for each in self.passages))

    @property
    def artifact_ids(self) -> set[str]:
        return {each.artifact_id for each in self.passages}


class _Age(NamedTuple):
    revision: int  # of the last write to the document
    byte_count: int


def fold_versions(ranking: Sequence[Candidate], versions: Versions) -> list[Candidate]:
    """Keep one passage of each group of versions and copies of a ranking, in the place and with the
    score of the group's best. Its ``folded`` are the others. Of the first ``FOLDING_DEPTH`` the
    newest version is kept, further down what is found first. All stay if all ``versions`` are
    wanted."""
    if versions == Versions.ALL:
        return list(ranking)
    passages = [_Passage(rank, candidate) for rank, candidate in enumerate(ranking)]
    groups = _join_copies(_group_versions(passages))
    folding = [each for each in groups if len(each.passages) + len(each.copies) > 1]
    ages = _read_ages({passage.artifact_id for each in folding for passage in each.passages})
    return [_choose(each, ages) for each in groups]


def _group_versions(passages: Sequence[_Passage]) -> list[_Group]:
    groups: list[_Group] = []
    by_lineage: defaultdict[tuple[Any, ...], list[_Group]] = defaultdict(list)
    for passage in passages:
        lineage = passage.lineage
        for group in by_lineage[lineage] if lineage is not None else ():
            if passage.artifact_id not in group.artifact_ids and passage.is_like(group.passages[0]):
                group.passages.append(passage)
                break
        else:
            groups.append(_Group([passage], rank=passage.rank))
            if lineage is not None:
                by_lineage[lineage].append(groups[-1])
    return groups


def _join_copies(groups: Sequence[_Group]) -> list[_Group]:
    """Add each passage that repeats others to the group that it repeats."""
    joined = [group for group in groups if len(group.passages) > 1]
    versions = [(group, group.sentences) for group in joined]
    by_text: dict[tuple[Any, str], _Group] = {}
    for group in groups:
        [passage, *others] = group.passages
        if others:
            continue
        if len(passage.text.split()) < MIN_COPY_WORDS:
            joined.append(group)
            continue
        repeated = next(
            (
                each
                for each, sentences in versions
                if passage.sentences <= sentences and passage.artifact_id not in each.artifact_ids
            ),
            None,
        )
        if repeated is not None:
            repeated.copies.append(passage)
            repeated.rank = min(repeated.rank, passage.rank)
            continue
        same = by_text.setdefault((passage.place, passage.letters), group)
        if same is not group and passage.artifact_id not in same.artifact_ids:
            same.passages.append(passage)
            continue
        joined.append(group)
    return sorted(joined, key=lambda group: group.rank)


def _read_ages(artifact_ids: Collection[str]) -> dict[str, _Age]:
    if not artifact_ids:
        return {}
    rows = Artifact.objects.filter(pk__in=artifact_ids)
    return {str(pk): _Age(*age) for pk, *age in rows.values_list("pk", "revision", "byte_count")}


def _choose(group: _Group, ages: Mapping[str, _Age]) -> Candidate:
    first = min((*group.passages, *group.copies), key=lambda each: each.rank)
    if len(group.passages) + len(group.copies) == 1:
        return first.candidate
    found = [each for each in group.passages if each.rank < FOLDING_DEPTH] or group.passages
    known = {each: ages.get(each.artifact_id, _Age(0, 0)) for each in found}
    most = BINDER_LENGTHS * min(age.byte_count for age in known.values())
    if found[0].lineage is None or len({each.lineage for each in found}) > 1:  # copies
        known = {each: age for each, age in known.items() if age.byte_count <= most}
    # Values of a field have one type; documents without one are older.
    values = {each.version for each in known} - {None}
    versions = sorted(values, key=lambda value: (isinstance(value, str), value))
    kept = max(
        known,
        key=lambda each: (
            versions.index(each.version) if each.version is not None else -1,
            known[each].revision,
            -each.rank,
        ),
    )
    others = [each for each in (*group.passages, *group.copies) if each is not kept]
    chosen = kept.candidate
    bonus = first.candidate.score - chosen.point.score
    folded = [
        Folded(each.candidate, each in group.copies or each.letters == kept.letters)
        for each in others
    ]
    return Candidate(chosen.target, chosen.point, bonus, folded)


@lru_cache(maxsize=10_000)
def _find_common_names(title: str, name: str) -> tuple[str, str] | None:
    """The names of a document without marks; None if they have none."""
    name = PurePath(name).stem
    names = strip_marks(title), strip_marks(name)
    return names if names != (_plain(title), _plain(name)) else None


def strip_marks(name: str) -> str:
    """A name in plain words, without what says of which version it is."""
    return _plain(_MARKS.sub("", name.replace("_", " ")))


def _plain(name: str) -> str:
    return " ".join(_WORD.findall(name.casefold().replace("_", " ")))


@lru_cache(maxsize=1_000)
def _list_sentences(text: str) -> frozenset[str]:
    plain = (" ".join(_WORD.findall(each.casefold())) for each in _SENTENCE_END.split(text))
    return frozenset(filter(None, plain))
