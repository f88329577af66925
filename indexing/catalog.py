"""Implements the index catalog that the documents app queries: names, metadata rules, status."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Case, CharField, F, Min, OuterRef, Q, Subquery, Value, When
from django.utils.module_loading import import_string

from core.exceptions import InvalidInput
from documents.index_catalog import IndexingProgress, PointRemoval
from documents.models import Artifact, ArtifactQuerySet
from indexing.hooks import find_text_faults
from indexing.kinds import KINDS
from indexing.models import NOT_SYNCED, Index, IndexBuild, IndexedDocument, Node
from indexing.removal import remove_artifact_points
from indexing.services.rereading import find_reading_faults
from indexing.spec import FieldSpec, IndexSpec
from indexing.spec.dates import read_date
from indexing.spec.loaded import explain_missing_index

# Metadata and the spec of the index; raises ``InvalidInput`` and ``ModelUnavailable``.
CheckMetadata = Callable[[Mapping[str, Any], IndexSpec], None]


def list_public_index_names() -> list[str]:
    return list(Index.objects.public().values_list("name", flat=True))


class LedgerIndexCatalog:
    """Implements ``documents.index_catalog.IndexCatalog`` with specs and ledger."""

    def index_names(self) -> Collection[str]:
        return set(Index.objects.not_being_removed().values_list("name", flat=True))

    def explain_missing_index(self, name: str) -> str | None:
        return explain_missing_index(name)

    def accepts_images(self, index: str) -> bool:
        build = _live_build(index)
        return build is not None and "image" in build.spec.kinds

    def ocr_languages(self, index: str) -> Sequence[str]:
        build = _live_build(index)
        return build.spec.ocr_languages if build else ()

    def titles_by_file(self, index: str) -> bool:
        build = _live_build(index)
        return build is not None and build.spec.document_titles == "file"

    def holds_unseen_text(self, index: str) -> bool:
        build = _live_build(index)
        return build is not None and build.spec.holds_unseen_text

    def clean_metadata(self, index: str, metadata: dict[str, Any]) -> dict[str, Any]:
        build = _live_build(index)
        declared = build.spec.metadata if build else {}
        cleaned = {
            name: clean_metadata_value(name, declared[name], value) if name in declared else value
            for name, value in metadata.items()
        }
        if build is not None:
            _check_by_kinds(cleaned, build.spec)
        return cleaned

    def with_status(
        self, artifacts: ArtifactQuerySet, index: str | None = None
    ) -> ArtifactQuerySet:
        documents = IndexedDocument.objects.in_live_builds().filter(artifact=OuterRef("pk"))
        if index is not None:
            documents = documents.filter(build__live_of=index)
        document_state = Subquery(documents.values("state")[:1])
        return artifacts.annotate(document_state=document_state).annotate(
            status=Case(
                When(~Q(state=Artifact.State.PARSED), then=F("state")),
                When(Q(document_state__in=["ready", "failed"]), then=F("document_state")),
                default=Value("indexing"),
                output_field=CharField(),
            )
        )

    def get_indexing_progress(self, artifact_ids: Iterable[UUID]) -> dict[UUID, IndexingProgress]:
        documents = IndexedDocument.objects.in_live_builds().filter(artifact__in=list(artifact_ids))
        node_errors = _read_node_errors(documents)
        # Texts are written for documents that were planned.
        planned_ids = [document.artifact_id for document in documents if document.planned_at]
        faults = (
            find_text_faults(Artifact.objects.filter(pk__in=planned_ids)) if planned_ids else {}
        )
        for artifact_id, fault in find_reading_faults(documents):
            faults.setdefault(artifact_id, []).append(fault)
        return {
            document.artifact_id: IndexingProgress(
                document.pending_count,
                document.synced_count,
                document.failed_count,
                _get_error(document, node_errors),
                faults.get(document.artifact_id, ()),
                document.revision if document.planned_at else None,
                document.shown_at,
            )
            for document in documents
        }

    def remove_artifact_points(self, artifact_ids: Collection[UUID], index: str) -> PointRemoval:
        return remove_artifact_points(artifact_ids, index)


def _read_node_errors(documents: Iterable[IndexedDocument]) -> dict[UUID, str]:
    """The error of the first failed node of each of these documents that has one."""
    failed = [document for document in documents if document.failed_count]
    if not failed:
        return {}
    nodes = Node.objects.filter(
        NOT_SYNCED,
        state=Node.State.FAILED,
        build__in={document.build_id for document in failed},
        artifact__in=[document.artifact_id for document in failed],
    )
    first_ids = nodes.values("artifact").annotate(first=Min("pk")).values("first")
    errors = Node.objects.filter(pk__in=first_ids).values_list("artifact_id", "last_error")
    return {artifact_id: error for artifact_id, error in errors if artifact_id is not None}


def _get_error(document: IndexedDocument, node_errors: Mapping[UUID, str]) -> dict[str, str] | None:
    if document.last_error:
        is_failed = document.state == IndexedDocument.State.FAILED
        code = "planning_failed" if is_failed else "planning_waits"
        return {"code": code, "detail": document.last_error}
    if not document.failed_count:
        return None
    return {"code": "node_failed", "detail": node_errors.get(document.artifact_id, "")}


def _live_build(index: str) -> IndexBuild | None:
    return IndexBuild.objects.live().filter(index=index).first()


def _check_by_kinds(metadata: Mapping[str, Any], spec: IndexSpec) -> None:
    for kind in spec.kinds:
        if path := KINDS[kind].check_metadata:
            check: CheckMetadata = import_string(path)
            check(metadata, spec)


def clean_metadata_value(name: str, field: FieldSpec, value: Any) -> Any:
    """Convert the value of a declared field to the form in which it is stored; None is no value.
    Raises ``InvalidInput``: the field does not allow it."""
    if value is None:
        return None
    if field.many:
        if not isinstance(value, list):
            raise _invalid_value_error(name, f"must be a list of values of type {field.type}")
        cleaned = field.normalise([_clean_scalar(name, field, each) for each in value])
    else:
        cleaned = field.normalise(_clean_scalar(name, field, value))
    allowed = field.closed_values
    for each in cleaned if field.many else [cleaned]:
        if allowed is not None and each not in allowed:
            raise InvalidInput(
                f"{each!r} is not an allowed value of metadata.{name}.",
                field=f"metadata.{name}",
                allowed=allowed,
            )
    return cleaned


def _clean_scalar(name: str, field: FieldSpec, value: Any) -> Any:
    if field.type == "datetime":
        return read_date(value, f"metadata.{name}")
    types: dict[str, tuple[type, ...]] = {
        "keyword": (str,), "text": (str,),
        "integer": (int,), "float": (int, float), "bool": (bool,),
    }  # fmt: skip
    has_type = isinstance(value, types[field.type])
    if not has_type or (isinstance(value, bool) and field.type != "bool"):
        raise _invalid_value_error(name, f"must be of type {field.type}")
    if field.type == "float":
        return float(value)  # the engine's float fields do not match integers
    if field.type == "integer" and not -(2**63) <= value < 2**63:
        raise _invalid_value_error(name, "must fit in 64 bits")
    return value


def _invalid_value_error(name: str, requirement: str) -> InvalidInput:
    return InvalidInput(f"metadata.{name} {requirement}.", field=f"metadata.{name}")
