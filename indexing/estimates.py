"""Estimates what applying a changed spec would cost: nodes, tokens, model calls, time and disk."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from django.db.models import Avg, Sum
from django.db.models.functions import Length

from documents.models import Artifact, Source
from indexing import embedding
from indexing.chunking import prepend_context
from indexing.kinds.registry import get_kind
from indexing.models import Index, IndexBuild, Node
from indexing.spec import IndexSpec
from indexing.spec.loaded import reread_spec
from indexing.throughput import (
    LANGUAGE_MODEL_CALLS,
    add_throughput_sample,
    embedding_work_key,
    get_rate_per_second,
)

# artifacts looked at, unless all are asked for; ids are random, so any are a sample
SAMPLE_SIZE = 200

# Measured on the embedded engine, 10,554 chunks of 384 dimensions: 6.9 kB a point, of which
# 1.5 kB are the vector and 1.9 kB the payload's JSON.
POINT_OVERHEAD_BYTES = 1_600
BYTES_PER_PAYLOAD_BYTE = 2
PAYLOAD_OVERHEAD_BYTES = 1_100  # beside the text
PROBE_TEXT_COUNT = 32  # texts embedded to see how fast that is


@dataclass(slots=True)
class NodeEstimate:
    """Nodes of one kind an artifact would have: drafts, and counts of texts not generated yet."""

    nodes: list[Node]
    unwritten_count: int = 0
    unwritten_tokens: int = 0
    call_count: int = 0  # of a language model
    prompt_tokens: int = 0
    completion_tokens: int = 0


NodeEstimator = Callable[[Artifact, IndexBuild], NodeEstimate]
_estimators: dict[str, NodeEstimator] = {}


def register_node_estimator(kind: str, estimator: NodeEstimator) -> None:
    """Register an estimator for a kind that is drafted from texts a build generates first."""
    _estimators[kind] = estimator


@dataclass(slots=True)
class KindEstimate:
    """Estimated counts for one kind of node. ``reused``: vectors are copied from the live build;
    ``reembedded``: same text, other model or context; ``rebuilt``: new; ``removed``: gone."""

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
class BuildEstimate:
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
) -> BuildEstimate:
    """Estimate the build that ``apply_spec`` would start now. ``is_exact`` chunks every artifact
    instead of a sample; ``advance`` is called with 1 after each artifact.

    Raises:
        UnknownIndex, InvalidSpec: there is no such spec, or it is not valid.
        ModelUnavailable, EmbeddingUnavailable: the new model's tokens could not be counted.
    """
    spec = reread_spec(name)
    index = Index.objects.select_related("live_build").filter(pk=name).first()
    live = index.live_build if index else None
    artifacts = Artifact.objects.filter(index=name, state=Artifact.State.PARSED)
    artifact_count = artifacts.count()
    estimate = BuildEstimate(
        index=name,
        live_build=live.number if live else None,
        changes=describe_spec_changes(live.spec, spec) if live else ["a new index"],
        is_free=live is not None and live.spec.fingerprint == spec.fingerprint,
        artifact_count=artifact_count,
        sampled_count=0,
    )
    if estimate.is_free:
        estimate.sampled_count = artifact_count
        return estimate
    build = IndexBuild(index_id=name, recipe=spec.model_dump(mode="json"))
    sampled_artifacts = artifacts.order_by("pk")
    if not is_exact:
        sampled_artifacts = sampled_artifacts[:SAMPLE_SIZE]
    kinds = {kind: KindEstimate() for kind in _all_kinds(live, spec)}
    characters = 0
    probe: list[Node] = []  # texts that would be embedded
    for artifact in _load_with_sources(sampled_artifacts):
        characters += sum(len(source.text) for source in artifact.sources.all())
        for kind, counted in kinds.items():
            embedded = _add_to_totals(kind, artifact, build, live, counted)
            if spec.embedding_spec_for(kind) == spec.embedding:
                probe += embedded
        estimate.sampled_count += 1
        advance(1)
    if estimate.is_estimate:
        artifact_factor = artifact_count / estimate.sampled_count
        text_factor = _text_scale_factor(name, characters)
        for kind, counted in kinds.items():
            is_text = spec.embedding_spec_for(kind) == spec.embedding
            kinds[kind] = _scale_counts(counted, text_factor if is_text else artifact_factor)
    estimate.kinds = kinds
    tokens = sum(counted.tokens for counted in estimate.kinds.values())
    calls = sum(counted.calls for counted in estimate.kinds.values())
    estimate.embedding_minutes = _to_minutes(tokens, _embedding_tokens_per_second(spec, probe))
    estimate.writing_minutes = _to_minutes(calls, get_rate_per_second(LANGUAGE_MODEL_CALLS))
    estimate.disk_bytes = _estimate_disk_bytes(spec, live, estimate.kinds)
    return estimate


def describe_spec_changes(old: IndexSpec, new: IndexSpec) -> list[str]:
    """``embedding.window: 256 -> 512``, for every setting that differs."""
    before, after = _flatten(old.model_dump(mode="json")), _flatten(new.model_dump(mode="json"))
    return [
        f"{path}: {_format_value(before.get(path))} -> {_format_value(after.get(path))}"
        for path in sorted({*before, *after})
        if before.get(path) != after.get(path)
    ]


def _flatten(value: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        return {path: value}
    flat: dict[str, Any] = {}
    for name, each in value.items():
        flat |= _flatten(each, f"{path}.{name}" if path else name)
    return flat


def _format_value(value: Any) -> str:
    return "none" if value is None or value == {} else str(value)


def _all_kinds(live: IndexBuild | None, spec: IndexSpec) -> list[str]:
    held = live.spec.kinds if live else ()
    return [*spec.kinds, *(kind for kind in held if kind not in spec.kinds)]


def _load_with_sources(artifacts: Any) -> Iterator[Artifact]:
    ids = list(artifacts.values_list("pk", flat=True))
    for start in range(0, len(ids), 50):
        part = Artifact.objects.filter(pk__in=ids[start : start + 50]).order_by("pk")
        yield from part.with_sources()


def _add_to_totals(
    kind: str, artifact: Artifact, build: IndexBuild, live: IndexBuild | None, totals: KindEstimate
) -> list[Node]:
    """Count an artifact's nodes of a kind; those that would be embedded."""
    embedded = []
    rows = {
        point_id: (text, context)
        for point_id, text, context in Node.objects.filter(build=live, artifact=artifact, kind=kind)
        .exclude(state=Node.State.DELETING)
        .values_list("point_id", "text", "context")
    }
    node_estimate = (
        _estimate_nodes(kind, artifact, build) if kind in build.spec.kinds else NodeEstimate([])
    )
    is_same_model = live is not None and (
        live.spec.embedding_spec_for(kind) == build.spec.embedding_spec_for(kind)
    )
    for node in node_estimate.nodes:
        text, context = rows.pop(node.point_id, (None, None))
        if is_same_model and (text, context) == (node.text, node.context):
            totals.kept += 1
            continue
        if text == node.text:
            totals.reembedded += 1
        else:
            totals.rebuilt += 1
        totals.tokens += node.token_count
        embedded.append(node)
    totals.rebuilt += node_estimate.unwritten_count
    totals.tokens += node_estimate.unwritten_tokens
    # What is yet to be written takes the place of something that was.
    totals.removed += len(rows)
    totals.calls += node_estimate.call_count
    totals.prompt_tokens += node_estimate.prompt_tokens
    totals.completion_tokens += node_estimate.completion_tokens
    totals.texts = totals.reembedded + totals.rebuilt
    return embedded


def _estimate_nodes(kind: str, artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    if kind in _estimators:
        return _estimators[kind](artifact, build)
    return NodeEstimate(get_kind(kind).draft(artifact, build))


def _text_scale_factor(name: str, characters: int) -> float:
    """Text length of the index divided by that of the sample: node counts follow text length."""
    every = Source.objects.filter(artifact__index=name, artifact__state=Artifact.State.PARSED)
    total = every.aggregate(total=Sum(Length("text")))["total"] or 0
    return total / characters if characters else 1.0


def _scale_counts(counted: KindEstimate, factor: float) -> KindEstimate:
    return KindEstimate(**{name: round(count * factor) for name, count in asdict(counted).items()})


def _embedding_tokens_per_second(spec: IndexSpec, probe: Sequence[Node]) -> float | None:
    """Tokens per second; measured now if unknown, unless the provider charges for it."""
    work = embedding_work_key(spec.embedding)
    if get_rate_per_second(work) is None and spec.embedding.provider != "openai" and probe:
        embedder = embedding.get_embedder(spec.embedding)
        texts = [prepend_context(node.context, node.text) for node in probe[:PROBE_TEXT_COUNT]]
        embedder.embed_documents(texts[:1])  # loads the model
        started = time.monotonic()
        embedder.embed_documents(texts)
        tokens = sum(node.token_count for node in probe[:PROBE_TEXT_COUNT])
        add_throughput_sample(work, tokens, time.monotonic() - started)
    return get_rate_per_second(work)


def _to_minutes(count: float, per_second: float | None) -> float | None:
    if not count:
        return 0.0
    return None if per_second is None else round(count / per_second / 60, 2)


def _estimate_disk_bytes(
    spec: IndexSpec, live: IndexBuild | None, kinds: Mapping[str, KindEstimate]
) -> int:
    """Estimate the bytes that the new build's points need in addition to the live build's."""
    text = Node.objects.filter(build=live).aggregate(mean=Avg(Length("text")))["mean"] or 400
    payload = BYTES_PER_PAYLOAD_BYTE * (PAYLOAD_OVERHEAD_BYTES + text)
    return round(
        sum(
            (counted.kept + counted.texts)
            * (4 * spec.embedding_spec_for(kind).dimension + payload + POINT_OVERHEAD_BYTES)
            for kind, counted in kinds.items()
        )
    )
