"""Reads the requests of the findings API and renders its answers."""

from typing import Any
from uuid import UUID

from rest_framework import serializers

from core.exceptions import InvalidInput
from core.openapi import with_example
from core.serializers import StrictSerializer, StringField, TitleField, make_error_json
from core.text import clean_text
from documents.models import Artifact
from documents.serializers import MAX_TITLE_CHARS, MAX_URL_CHARS, TextField, URLField
from evidence.duplicates import StoredFinding, join_pages
from evidence.models import EvidenceReference
from evidence.search import MAX_URLS, EvidenceSearchAnswer
from evidence.services import (
    MAX_ITEMS,
    WRITTEN_DATE,
    EvidenceDecision,
    EvidenceInput,
    EvidenceVerdict,
)
from retrieval.search import MAX_LIMIT, MAX_QUERY_CHARS
from retrieval.serializers.answers import render_chunk, render_search_answer
from retrieval.serializers.requests import FiniteFloatField, SimilarityField
from strata_types.examples import FINDING

MAX_AUTHORS = 1_000
MAX_CITATION_CHARS = 1_000  # of a source, a date, an author's name
# Findings are embedded while the caller waits: at this size for about ten seconds.
MAX_REQUEST_CHARS = 500_000


# --- Requests --------------------------------------------------------------------------------


class CitationInputSerializer(StrictSerializer):
    """The publication a finding comes from."""

    url = URLField(required=False, max_length=MAX_URL_CHARS)
    source = StringField(  # type: ignore[assignment]  # a field, and not the base class's setting
        required=False, max_length=MAX_CITATION_CHARS, help_text="Who published it."
    )
    title = TitleField(required=False, allow_blank=True, max_length=MAX_TITLE_CHARS)
    date = StringField(
        required=False,
        max_length=MAX_CITATION_CHARS,
        help_text="Such as 2021-05-14, 2021/05/14, 2021-05, 2021, 2021 May 14 or May 14, 2021. A "
        "month or a year stands for its first day; Unknown stands for none.",
    )
    authors = serializers.ListField(
        child=StringField(max_length=MAX_CITATION_CHARS), required=False, max_length=MAX_AUTHORS
    )


class EvidenceInputSerializer(StrictSerializer):
    url = URLField(
        required=False,
        max_length=MAX_URL_CHARS,
        help_text="Identifies the finding: adding the same URL again updates it. If it is absent, "
        "the URL of the citation identifies the finding.",
    )
    content = TextField()
    citation = CitationInputSerializer(required=False)


class ThresholdSerializer(StrictSerializer):
    threshold = FiniteFloatField(
        required=False,
        min_value=0.0,
        max_value=1.0,
        help_text="Cosine from which two findings are duplicates; default: the index's setting.",
    )


class FindingsField(serializers.ListField):
    """A list of findings. Each is read by itself; an invalid one is replaced by its error."""

    child = EvidenceInputSerializer()

    def run_child_validation(self, data: list[Any]) -> Any:
        return [_read_evidence_input(position, item) for position, item in enumerate(data)]


class AddEvidenceSerializer(ThresholdSerializer):
    """Several items, or one as ``SingleEvidenceSerializer`` describes it."""

    items = FindingsField(min_length=1, max_length=MAX_ITEMS)

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict) and "items" not in data and "content" in data:
            single = dict(data)
            threshold = {k: single.pop(k) for k in ("threshold",) if k in single}
            data = {"items": [single], **threshold}
        return super().to_internal_value(data)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        findings = [item for item in attrs["items"] if isinstance(item, EvidenceInput)]
        if sum(len(finding.content) for finding in findings) > MAX_REQUEST_CHARS:
            raise InvalidInput(
                f"The findings of a request may have at most {MAX_REQUEST_CHARS:,} characters "
                "together.",
                field="items",
                fix="Send fewer at a time; add long texts as documents.",
            )
        return attrs


class SingleEvidenceSerializer(EvidenceInputSerializer, ThresholdSerializer):
    """One item, with its fields beside ``threshold``."""


class EvidenceSearchSerializer(StrictSerializer):
    limit = serializers.IntegerField(default=10, min_value=1, max_value=MAX_LIMIT)
    min_similarity = SimilarityField()
    min_revision = serializers.IntegerField(
        required=False,
        min_value=0,
        help_text="A write's revision. If the index does not show that write yet: 409.",
    )


class SimilarEvidenceParametersSerializer(EvidenceSearchSerializer):
    q = StringField(
        source="query", max_length=MAX_QUERY_CHARS, help_text="A finding, a claim or a question."
    )


@with_example({"query": "aspirin after stroke", "urls": [FINDING["url"]], "limit": 5})
class RelatedEvidenceParametersSerializer(EvidenceSearchSerializer):
    query = StringField(max_length=MAX_QUERY_CHARS)
    urls = serializers.ListField(
        child=URLField(max_length=MAX_URL_CHARS),
        max_length=MAX_URLS,
        default=list,
        source="excluded_urls",
        help_text="URLs of findings to exclude.",
    )


def _read_evidence_input(position: int, data: Any) -> EvidenceInput | EvidenceDecision:
    url = data.get("url") if isinstance(data, dict) else None
    try:
        fields = EvidenceInputSerializer.read(data)
        citation = fields.get("citation") or {}
        url = fields.get("url") or citation.get("url")
        if url is None:
            raise InvalidInput(
                "The finding has no URL.", field="url", fix="Give it url, or citation.url."
            )
    except InvalidInput as error:
        error.field = ".".join(filter(None, ["items", str(position), error.field]))
        shown_url = clean_text(url) if isinstance(url, str) else ""
        return EvidenceDecision(shown_url, EvidenceVerdict.REJECTED, error=error)
    if not citation:
        return EvidenceInput(url, fields["content"])
    citation_fields = {
        name: _clean_citation_value(value) for name, value in citation.items() if name != "title"
    }
    return EvidenceInput(url, fields["content"], citation.get("title") or None, citation_fields)


def _clean_citation_value(value: Any) -> Any:
    return [clean_text(each) for each in value] if isinstance(value, list) else clean_text(value)


# --- Answers ---------------------------------------------------------------------------------


def render_decision(decision: EvidenceDecision) -> dict[str, Any]:
    content: dict[str, Any] = {"url": decision.url, "verdict": str(decision.verdict)}
    if decision.error is not None:
        return content | {"error": make_error_json(decision.error)}
    content |= {"artifact_id": decision.artifact_id, "revision": decision.revision}
    if decision.verdict == EvidenceVerdict.DUPLICATE:
        content |= {"duplicate_of": decision.artifact_id, "similarity": decision.similarity}
    else:
        content["similar_to"] = [_render_similar(each) for each in decision.similar]
    return content


def render_evidence_answer(found: EvidenceSearchAnswer) -> dict[str, Any]:
    content = render_search_answer(found.answer, render_chunk)
    hits = []
    for hit, rendered in zip(found.answer.hits, content["hits"], strict=True):
        artifact_id = UUID(hit.payload["artifact_id"])
        finding = found.findings.get(artifact_id)
        if finding is not None:
            references = found.references.get(artifact_id, ())
            rendered |= {
                "url": finding.url,
                "content": _read_text(finding),
                "citation": _render_citation(finding.title, finding.metadata),
                "similarity": hit.score,
                "references": [_render_reference(each) for each in references],
                "similar_to": [
                    _render_similar(each) | {"url": linked.url, "content": _read_text(linked)}
                    for each in found.similar.get(artifact_id, ())
                    if (linked := found.findings.get(each.artifact_id)) is not None
                ],
            }
            hits.append(rendered)
    return content | {"hits": hits}


def _render_similar(finding: StoredFinding) -> dict[str, Any]:
    return {"artifact_id": finding.artifact_id, "similarity": finding.similarity}


def _read_text(finding: Artifact) -> str:
    return join_pages(page.text for page in finding.pages.all())


def _render_reference(reference: EvidenceReference) -> dict[str, Any]:
    return {
        "url": reference.url,
        "content": reference.content,
        "citation": _render_citation(reference.title, reference.citation),
        "similarity": reference.similarity,
        "added_at": reference.added_at.isoformat().replace("+00:00", "Z"),
    }


def _render_citation(title: str, stored: dict[str, Any]) -> dict[str, Any]:
    """The citation as received: with a date such as ``2021`` as it was written."""
    citation = {"title": title, **stored}
    written = citation.pop(WRITTEN_DATE, None)
    return citation if written is None else citation | {"date": written}
