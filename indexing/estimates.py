"""Estimates what applying a changed spec would cost: nodes, tokens, model calls, time and disk."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any

import yaml
from django.conf import settings
from django.db.models import Avg, QuerySet, Sum
from django.db.models.functions import Length

from documents.models import Artifact, Source
from documents.reading import find_outdated_artifacts
from indexing import embedding
from indexing.chunking import prepend_context
from indexing.drafting import get_drafter, get_standalone_drafters
from indexing.kinds import KINDS
from indexing.models import Index, IndexBuild, Node, SearchSettings
from indexing.services.batches import slices
from indexing.spec import PLACEMENT, UNPLACED, IndexSpec, dump_recipe
from indexing.spec.loaded import reread_spec
from indexing.throughput import (
    LANGUAGE_MODEL_CALLS,
    add_throughput_sample,
    embedding_work_key,
    get_rate_per_second,
)

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

# artifacts examined, unless all are requested; ids are random, so the first ones are a sample
SAMPLE_SIZE = 200

# Measured on the embedded engine, 10,554 chunks of 384 dimensions: 6.9 kB a point, of which
# 1.5 kB are the vector and 1.9 kB the payload's JSON.
POINT_OVERHEAD_BYTES = 1_600
BYTES_PER_PAYLOAD_BYTE = 2
PAYLOAD_OVERHEAD_BYTES = 1_100  # in addition to the text
PROBE_TEXT_COUNT = 32  # texts embedded to measure the speed


@dataclass(slots=True)
class NodeEstimate:
    """Nodes of one kind that an artifact would have: drafts, and counts of unwritten texts."""

    nodes: list["TextNode"]
    unwritten_count: int = 0
    unwritten_tokens: int = 0
    call_count: int = 0  # of a language model
    prompt_tokens: int = 0
    completion_tokens: int = 0


NodeEstimator = Callable[[Artifact, IndexBuild], NodeEstimate]
_estimators: dict[str, NodeEstimator] = {}


def register_node_estimator(kind: str, estimator: NodeEstimator) -> None:
    """Register an estimator for a kind that is drafted from texts that are written first."""
    _estimators[kind] = estimator


@dataclass(slots=True)
class KindEstimate:
    """Estimated counts for one kind of node. ``kept``: vectors are copied from the live build, or
    get another context; ``reembedded``: same text, but another model, or a context embedded with
    it; ``rebuilt``: new; ``removed``: gone."""

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
    changes: list[str]  # from the live build's recipe
    search_settings: int | None  # the number of the current settings
    search_changes: list[str]  # from the current settings; they take effect at once
    store_changes: list[str]  # from the current settings; applied to the collections in place
    is_free: bool  # no new build is needed
    open_build: int | None  # the build in progress that the spec makes, too
    outdated_count: int  # documents that a new build reads anew; the figures are of their old texts
    artifact_count: int
    sampled_count: int  # artifacts examined; the figures are scaled up from them
    kinds: dict[str, KindEstimate] = field(default_factory=dict)
    embedding_minutes: float | None = None  # None: the speed is not known yet
    writing_minutes: float | None = None  # of a language model; likewise
    disk_bytes: int = 0

    @property
    def is_estimate(self) -> bool:
        return self.sampled_count < self.artifact_count

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "is_estimate": self.is_estimate}


def estimate_build(
    name: str, *, is_exact: bool = False, advance: Callable[[int], None] = lambda count: None
) -> BuildEstimate:
    """Estimate the build that ``apply_spec`` would start now. ``is_exact`` chunks every artifact
    instead of a sample; ``advance`` is called with 1 after each artifact.

    Raises:
        UnknownIndex, InvalidSpec: there is no such spec, or it is not valid.
        ModelUnavailable, EmbeddingUnavailable: the new model's tokens could not be counted.
    """
    spec = reread_spec(name)
    index = Index.objects.select_related("live_build", "search_settings").filter(pk=name).first()
    live = index.live_build if index else None
    search_settings = index.search_settings if index else None
    open_builds = IndexBuild.objects.filter(index=name, state=IndexBuild.State.BUILDING)
    artifacts = Artifact.objects.filter(index=name, state=Artifact.State.PARSED)
    artifact_count = artifacts.count()
    estimate = BuildEstimate(
        index=name,
        live_build=live.number if live else None,
        changes=_describe_build_changes(live, spec),
        search_settings=search_settings.number if search_settings else None,
        search_changes=_describe_search_changes(live, search_settings, spec),
        store_changes=_describe_store_changes(live, spec),
        is_free=live is not None and live.is_made_by(spec),
        open_build=next((each.number for each in open_builds if each.is_made_by(spec)), None),
        outdated_count=0
        if index is None
        else len(
            find_outdated_artifacts(
                name,
                index.live_reading,
                with_unseen=spec.holds_unseen_text,
                ocr_languages=spec.ocr_languages,
            )
        ),
        artifact_count=artifact_count,
        sampled_count=0,
    )
    if estimate.is_free:
        estimate.sampled_count = artifact_count
        return estimate
    reading = index.live_reading if index else 0
    build = IndexBuild(index=Index(name=name), recipe=dump_recipe(spec), reading=reading)
    sampled_artifacts = artifacts.order_by("pk")
    if not is_exact:
        sampled_artifacts = sampled_artifacts[:SAMPLE_SIZE]
    every = _all_kinds(live, spec)
    kinds = {kind: KindEstimate() for kind in every if not KINDS[kind].is_standalone}
    characters = 0
    probe: list[TextNode] = []  # texts that would be embedded
    for artifact in _load_with_sources(sampled_artifacts):
        characters += sum(len(source.text) for source in artifact.sources.all())
        for kind, counted in kinds.items():
            new_nodes = NodeEstimate([])
            if kind in spec.kinds:
                new_nodes = _estimate_nodes(kind, artifact, build)
            live_nodes = Node.objects.filter(build=live, artifact=artifact, kind=kind)
            embedded = _add_to_totals(kind, new_nodes, live_nodes, build, live, counted)
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
    drafters = get_standalone_drafters(build)
    for kind in every:
        if KINDS[kind].is_standalone:
            counted = kinds[kind] = KindEstimate()
            rows = drafters[kind].find_rows(name) if kind in drafters else ()
            new_nodes = NodeEstimate([drafters[kind].draft(row, build) for row in rows])
            live_nodes = Node.objects.filter(build=live, kind=kind)
            probe += _add_to_totals(kind, new_nodes, live_nodes, build, live, counted)
    estimate.kinds = kinds
    tokens = sum(counted.tokens for counted in estimate.kinds.values())
    calls = sum(counted.calls for counted in estimate.kinds.values())
    estimate.embedding_minutes = _to_minutes(tokens, _embedding_tokens_per_second(spec, probe))
    estimate.writing_minutes = _to_minutes(calls, get_rate_per_second(LANGUAGE_MODEL_CALLS))
    estimate.disk_bytes = _estimate_disk_bytes(spec, live, estimate.kinds)
    return estimate


def _describe_build_changes(live: IndexBuild | None, spec: IndexSpec) -> list[str]:
    """Changes that need a new build."""
    if live is None:
        return ["a new index"]
    return describe_changes(
        {**live.spec.recipe, "store": UNPLACED | live.placement},
        {**spec.recipe, "store": UNPLACED | spec.placement},
    )


def _describe_store_changes(live: IndexBuild | None, spec: IndexSpec) -> list[str]:
    if live is None or settings.STRATA_VECTOR_STORE == "embedded":
        return []
    old, new = (
        each.model_dump(mode="json", exclude=set(PLACEMENT))
        for each in (live.spec.store, spec.store)
    )
    return describe_changes({"store": old}, {"store": new})


def _describe_search_changes(
    live: IndexBuild | None, stored: SearchSettings | None, spec: IndexSpec
) -> list[str]:
    """Compares with the stored settings: they may name fields that the live build lacks."""
    if stored is not None:
        return describe_changes(stored.content | {"version": None}, spec.search_settings)
    return [] if live is None else describe_changes(live.spec.search_settings, spec.search_settings)


def describe_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """``embedding.window: 256 -> 512``, for every setting that differs."""
    before, after = _flatten(old), _flatten(new)
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
    """On one line, as a spec writes it."""
    if value is None or value == {}:
        return "none"
    written = yaml.safe_dump(
        value, default_flow_style=True, sort_keys=False, allow_unicode=True, width=inf
    )
    return written.removesuffix("...\n").strip()


def _all_kinds(live: IndexBuild | None, spec: IndexSpec) -> list[str]:
    live_kinds = live.spec.kinds if live else ()
    return [*spec.kinds, *(kind for kind in live_kinds if kind not in spec.kinds)]


def _load_with_sources(artifacts: Any) -> Iterator[Artifact]:
    ids = list(artifacts.values_list("pk", flat=True))
    for part in slices(ids, 50):
        yield from Artifact.objects.filter(pk__in=part).order_by("pk").with_sources()


def _add_to_totals(
    kind: str,
    new_nodes: NodeEstimate,
    live_nodes: QuerySet[Node],
    build: IndexBuild,
    live: IndexBuild | None,
    totals: KindEstimate,
) -> list["TextNode"]:
    """Compare the new nodes of a kind with the live ones; return those that would be embedded."""
    embedded = []
    rows = {
        str(row.point_id): (row.text, row.context, row.context_weight)
        for row in live_nodes.exclude(state=Node.State.DELETING).only(
            "point_id", "text", "context", "details"
        )
    }
    is_same_model = live is not None and (live.spec.has_vectors_of(build.spec, kind))
    for node in new_nodes.nodes:
        text, *context = rows.pop(node.node_id, (None,))
        weight = node.metadata["details"].get("context_weight")
        # Simplification: a context that outweighs its text cannot be replaced.
        has_same_context = context == [node.metadata["context"], weight]
        if is_same_model and text == node.text and (has_same_context or (weight and context[1])):
            totals.kept += 1
            continue
        if text == node.text:
            totals.reembedded += 1
        else:
            totals.rebuilt += 1
        totals.tokens += node.metadata["token_count"]
        embedded.append(node)
    totals.rebuilt += new_nodes.unwritten_count
    totals.tokens += new_nodes.unwritten_tokens
    # Simplification: texts not written yet do not reduce the number of removed nodes.
    totals.removed += len(rows)
    totals.calls += new_nodes.call_count
    totals.prompt_tokens += new_nodes.prompt_tokens
    totals.completion_tokens += new_nodes.completion_tokens
    totals.texts = totals.reembedded + totals.rebuilt
    return embedded


def _estimate_nodes(kind: str, artifact: Artifact, build: IndexBuild) -> NodeEstimate:
    if kind in _estimators:
        return _estimators[kind](artifact, build)
    return NodeEstimate(list(get_drafter(kind).draft(artifact, build)))


def _text_scale_factor(name: str, characters: int) -> float:
    """Text length of the index divided by that of the sample: node counts follow text length."""
    every = Source.objects.filter(artifact__index=name, artifact__state=Artifact.State.PARSED)
    total = every.aggregate(total=Sum(Length("text")))["total"] or 0
    return total / characters if characters else 1.0


def _scale_counts(counted: KindEstimate, factor: float) -> KindEstimate:
    return KindEstimate(**{name: round(count * factor) for name, count in asdict(counted).items()})


def _embedding_tokens_per_second(spec: IndexSpec, probe: Sequence["TextNode"]) -> float | None:
    """Tokens per second; measured now if unknown, unless the provider charges for it."""
    work = embedding_work_key(spec.embedding)
    if get_rate_per_second(work) is None and spec.embedding.provider != "openai" and probe:
        embedder = embedding.get_embedder(spec.embedding)
        probe = probe[:PROBE_TEXT_COUNT]
        texts = [prepend_context(node.metadata["context"], node.text) for node in probe]
        embedder.embed_documents(texts[:1])  # loads the model
        started = time.monotonic()
        embedder.embed_documents(texts)
        tokens = sum(node.metadata["token_count"] for node in probe)
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
