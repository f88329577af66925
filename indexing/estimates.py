"""What a changed spec would do, before anything is spent on it."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db.models import Avg, Sum
from django.db.models.functions import Length

from documents.models import Artifact, Source
from indexing import embedding
from indexing.chunking import embedded_text
from indexing.kinds.registry import get_kind
from indexing.models import Index, IndexBuild, Node
from indexing.spec import IndexSpec
from indexing.spec.loaded import read_spec
from indexing.throughput import LANGUAGE_MODEL, count_per_second, embedding_with, note_throughput

SAMPLE = 200  # artifacts looked at, unless all are asked for; ids are random, so any are a sample

# Measured on the embedded engine, 10,554 chunks of 384 dimensions: 6.9 kB a point, of which
# 1.5 kB are the vector and 1.9 kB the payload's JSON.
POINT_OVERHEAD_BYTES = 1_600
BYTES_PER_PAYLOAD_BYTE = 2
PAYLOAD_BYTES = 1_100  # beside the text
PROBED = 32  # texts embedded to see how fast that is


@dataclass(slots=True)
class NodeEstimate:
    """The nodes of one kind an artifact would have: drafts, and those yet to be written."""

    nodes: list[Node]
    unwritten_count: int = 0
    unwritten_tokens: int = 0
    call_count: int = 0  # of a language model
    prompt_tokens: int = 0
    completion_tokens: int = 0


Estimator = Callable[[Artifact, IndexBuild], NodeEstimate]
_estimators: dict[str, Estimator] = {}


def register_estimator(kind: str, estimator: Estimator) -> None:
    """For a kind whose drafts rest on what is not there before the build is."""
    _estimators[kind] = estimator


@dataclass(slots=True)
class KindEstimate:
    """Nodes of one kind. ``kept`` have their vectors copied, ``reembedded`` say what they say
    now under another model or context, ``rebuilt`` are new, ``removed`` have no successor."""

    kept: int = 0
    reembedded: int = 0
    rebuilt: int = 0
    removed: int = 0
    texts: int = 0  # to embed
    tokens: int = 0
    calls: int = 0  # of a language model
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(slots=True)
class Estimate:
    index: str
    live_build: int | None
    changes: list[str]  # what the spec says otherwise than the live build
    is_free: bool  # nothing of it is stored: searches take it over at once
    artifact_count: int
    sampled_count: int  # artifacts looked at; the figures are scaled up from them
    kinds: dict[str, KindEstimate] = field(default_factory=dict)
    embedding_minutes: float | None = None  # None: how fast is not known here yet
    writing_minutes: float | None = None  # of a language model; likewise
    disk_bytes: int = 0

    @property
    def is_estimate(self) -> bool:
        return self.sampled_count < self.artifact_count

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "is_estimate": self.is_estimate}


def estimate_build(
    name: str,
    *,
    is_exact: bool = False,
    advance: Callable[[int], None] = lambda count: None,
) -> Estimate:
    """What ``begin_build`` would begin now. ``is_exact`` looks at every artifact, and takes as
    long as cutting them all does; ``advance`` is called with 1 after each.

    Raises:
        UnknownIndex, InvalidSpec: there is no such spec, or it is not valid.
        ModelUnavailable, EmbeddingUnavailable: the new model's tokens could not be counted.
    """
    spec = read_spec(name)
    index = Index.objects.select_related("live_build").filter(pk=name).first()
    live = index.live_build if index else None
    artifacts = Artifact.objects.filter(index=name, state=Artifact.State.PARSED)
    artifact_count = artifacts.count()
    estimate = Estimate(
        index=name,
        live_build=live.number if live else None,
        changes=describe_changes(live.spec, spec) if live else ["a new index"],
        is_free=live is not None and live.spec.fingerprint == spec.fingerprint,
        artifact_count=artifact_count,
        sampled_count=0,
    )
    if estimate.is_free:
        estimate.sampled_count = artifact_count
        return estimate
    build = IndexBuild(index_id=name, recipe=spec.model_dump(mode="json"))
    chosen = artifacts.order_by("pk")
    if not is_exact:
        chosen = chosen[:SAMPLE]
    kinds = {kind: KindEstimate() for kind in _all_kinds(live, spec)}
    characters = 0
    probe: list[Node] = []  # texts that would be embedded
    for artifact in _with_sources(chosen):
        characters += sum(len(source.text) for source in artifact.sources.all())
        for kind, counted in kinds.items():
            embedded = _count(kind, artifact, build, live, counted)
            if spec.embedding_of(kind) == spec.embedding:
                probe += embedded
        estimate.sampled_count += 1
        advance(1)
    if estimate.is_estimate:
        by_artifact = artifact_count / estimate.sampled_count
        by_text = _scale(name, characters)
        for kind, counted in kinds.items():
            is_text = spec.embedding_of(kind) == spec.embedding
            kinds[kind] = _scaled(counted, by_text if is_text else by_artifact)
    estimate.kinds = kinds
    tokens = sum(counted.tokens for counted in estimate.kinds.values())
    calls = sum(counted.calls for counted in estimate.kinds.values())
    estimate.embedding_minutes = _minutes(tokens, _embedding_throughput(spec, probe))
    estimate.writing_minutes = _minutes(calls, count_per_second(LANGUAGE_MODEL))
    estimate.disk_bytes = _disk_bytes(spec, live, estimate.kinds)
    return estimate


def describe_changes(old: IndexSpec, new: IndexSpec) -> list[str]:
    """``embedding.window: 256 -> 512``, for every setting that differs."""
    before, after = _flat(old.model_dump(mode="json")), _flat(new.model_dump(mode="json"))
    return [
        f"{path}: {_said(before.get(path))} -> {_said(after.get(path))}"
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    ]


def _flat(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        return {path: value}
    flat: dict[str, Any] = {}
    for name, each in value.items():
        flat |= _flat(each, f"{path}.{name}" if path else name)
    return flat


def _said(value: Any) -> str:
    return "none" if value is None or value == {} else str(value)


def _all_kinds(live: IndexBuild | None, spec: IndexSpec) -> list[str]:
    held = live.spec.kinds if live else ()
    return [*spec.kinds, *(kind for kind in held if kind not in spec.kinds)]


def _with_sources(artifacts: Any) -> Iterator[Artifact]:
    ids = list(artifacts.values_list("pk", flat=True))
    for start in range(0, len(ids), 50):
        part = Artifact.objects.filter(pk__in=ids[start : start + 50]).order_by("pk")
        yield from part.with_sources()


def _count(
    kind: str, artifact: Artifact, build: IndexBuild, live: IndexBuild | None, counted: KindEstimate
) -> list[Node]:
    """Count an artifact's nodes of a kind; those that would be embedded."""
    embedded = []
    rows = {
        point_id: (text, context)
        for point_id, text, context in Node.objects.filter(build=live, artifact=artifact, kind=kind)
        .exclude(state=Node.State.DELETING)
        .values_list("point_id", "text", "context")
    }
    estimate = (
        _estimate_kind(kind, artifact, build) if kind in build.spec.kinds else NodeEstimate([])
    )
    is_same_model = live is not None and (
        live.spec.embedding_of(kind) == build.spec.embedding_of(kind)
    )
    for node in estimate.nodes:
        text, context = rows.pop(node.point_id, (None, None))
        if is_same_model and (text, context) == (node.text, node.context):
            counted.kept += 1
            continue
        if text == node.text:
            counted.reembedded += 1
        else:
            counted.rebuilt += 1
        counted.tokens += node.token_count
        embedded.append(node)
    counted.rebuilt += estimate.unwritten_count
    counted.tokens += estimate.unwritten_tokens
    # What is yet to be written takes the place of something that was.
    counted.removed += len(rows)
    counted.calls += estimate.call_count
    counted.prompt_tokens += estimate.prompt_tokens
    counted.completion_tokens += estimate.completion_tokens
    counted.texts = counted.reembedded + counted.rebuilt
    return embedded


def _estimate_kind(kind: str, artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    if kind in _estimators:
        return _estimators[kind](artifact, build)
    return NodeEstimate(get_kind(kind).draft(artifact, build))


def _scale(name: str, characters: int) -> float:
    """All the text there is, over that of the sample: nodes go by text more than by artifact."""
    every = Source.objects.filter(artifact__index=name, artifact__state=Artifact.State.PARSED)
    total = every.aggregate(total=Sum(Length("text")))["total"] or 0
    return total / characters if characters else 1.0


def _scaled(counted: KindEstimate, factor: float) -> KindEstimate:
    return KindEstimate(**{name: round(count * factor) for name, count in asdict(counted).items()})


def _embedding_throughput(spec: IndexSpec, probe: Sequence[Node]) -> float | None:
    """Tokens a second; measured now where it is not known, unless that would be paid for."""
    work = embedding_with(spec.embedding)
    if count_per_second(work) is None and spec.embedding.provider != "openai" and probe:
        embedder = embedding.get_embedder(spec.embedding)
        texts = [embedded_text(node.context, node.text) for node in probe[:PROBED]]
        embedder.embed_documents(texts[:1])  # loads the model
        started = time.monotonic()
        embedder.embed_documents(texts)
        tokens = sum(node.token_count for node in probe[:PROBED])
        note_throughput(work, tokens, time.monotonic() - started)
    return count_per_second(work)


def _minutes(count: float, per_second: float | None) -> float | None:
    if not count:
        return 0.0
    return None if per_second is None else round(count / per_second / 60, 2)


def _disk_bytes(spec: IndexSpec, live: IndexBuild | None, kinds: Mapping[str, KindEstimate]) -> int:
    """What the new build's points will take beside the live one's, roughly."""
    text = Node.objects.filter(build=live).aggregate(mean=Avg(Length("text")))["mean"] or 400
    payload = BYTES_PER_PAYLOAD_BYTE * (PAYLOAD_BYTES + text)
    return round(
        sum(
            (counted.kept + counted.texts)
            * (4 * spec.embedding_of(kind).dimension + payload + POINT_OVERHEAD_BYTES)
            for kind, counted in kinds.items()
        )
    )
