"""What is written about documents in the admin: to look at, to edit, to have written again."""

import json
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminTextareaWidget
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest, HttpResponse
from django.utils.translation import ngettext
from rest_framework.exceptions import ValidationError as InvalidJSON

from core.admin import Listed, offer_actions, selected
from core.enqueueing import enqueue_on_commit
from core.exceptions import InvalidInput
from core.text import clean_text
from documents.admin import ArtifactAdmin
from documents.models import Artifact, Page
from documents.serializers import MetadataTextField
from documents.services import retry_parsing
from documents.tasks import reconcile_documents
from indexing import services as indexing
from indexing.admin.indexes import ERROR_CHARS, IndexOfBuildFilter, enqueue_syncing
from indexing.models import IndexBuild, Node
from indexing.spec.loaded import get_specs
from summaries import services, tasks
from summaries.models import Annotation, Summary, Writing
from summaries.serializers import MAX_SUMMARY_CHARS
from summaries.writers import BY_HAND, EXTRACTIVE

MAX_QUESTIONS = 20  # as many as a spec may ask for
MAX_QUESTION_CHARS = 500
LINE_CHARS = 120  # of a summary, in a list


# --- Queueing --------------------------------------------------------------------------------


def enqueue_writing() -> None:
    """Once this is committed, have it written for the builds that something is due for."""
    due = [
        Exists(model._default_manager.filter(build=OuterRef("pk"), state=Writing.State.DUE))
        for model in services.KINDS_OF
    ]
    builds = IndexBuild.objects.not_retired().filter(due[0] | due[1])
    for build_id in builds.values_list("pk", flat=True):
        enqueue_on_commit(tasks.write, build_id=build_id)


def write_again(rows: QuerySet[Any]) -> int:
    count = services.write_again(
        rows.filter(build__in=IndexBuild.objects.not_retired().values("pk"))
    )
    enqueue_writing()
    return count


def say_summaries(model_admin: Listed, request: HttpRequest, count: int) -> None:
    message = ngettext("%d summary queued.", "%d summaries queued.", count) % count
    model_admin.message_user(request, message, messages.SUCCESS)


def say_chunks(model_admin: Listed, request: HttpRequest, count: int) -> None:
    message = ngettext("%d chunk queued.", "%d chunks queued.", count) % count
    model_admin.message_user(request, message, messages.SUCCESS)


# --- Artifacts and pages ---------------------------------------------------------------------

# Rows written by hand are spared here: whoever wants to lose those selects them themselves.


@admin.action(description="Summarise again, but for what is by hand", permissions=["queue"])
def summarise_artifacts_again(
    model_admin: Listed, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    summaries = Summary.objects.filter(artifact__in=selected(queryset), is_by_hand=False)
    say_summaries(model_admin, request, write_again(summaries))


@admin.action(description="Ask questions again, but for what is by hand", permissions=["queue"])
def ask_artifacts_again(
    model_admin: Listed, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    chunks = Annotation.objects.filter(artifact__in=selected(queryset), is_by_hand=False)
    say_chunks(model_admin, request, write_again(chunks))


@admin.action(description="Retry failed", permissions=["queue"])
def retry_artifacts(
    model_admin: Listed, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    """Whatever of these artifacts failed: reading them, writing about them, embedding."""
    artifacts = selected(queryset)
    with transaction.atomic():
        nodes = indexing.retry_failed_nodes(Node.objects.filter(artifact__in=artifacts))
        texts = sum(
            services.retry_failed(model._default_manager.filter(artifact__in=artifacts))
            for model in services.KINDS_OF
        )
        files = retry_parsing(artifacts)  # last: the list may be of those that failed
        if files:
            enqueue_on_commit(reconcile_documents)
        enqueue_syncing()
        enqueue_writing()
    counts = [
        ngettext("%d file", "%d files", files) % files,
        ngettext("%d text", "%d texts", texts) % texts,
        ngettext("%d node", "%d nodes", nodes) % nodes,
    ]
    queued = ", ".join(counts)
    model_admin.message_user(request, f"Queued again: {queued}.", messages.SUCCESS)


@admin.action(description="Summarise again, but for what is by hand", permissions=["queue"])
def summarise_pages_again(
    model_admin: Listed, request: HttpRequest, queryset: QuerySet[Page]
) -> None:
    summaries = Summary.objects.filter(page__in=selected(queryset), is_by_hand=False)
    say_summaries(model_admin, request, write_again(summaries))


offer_actions(Artifact, summarise_artifacts_again, ask_artifacts_again, retry_artifacts)
offer_actions(Page, summarise_pages_again)


# --- What is written -------------------------------------------------------------------------


class ModelNameFilter(admin.SimpleListFilter):
    """By who wrote it: those known now, and all others, for to list those would read all rows."""

    title = "written by"
    parameter_name = "model_name"
    OTHERS = "-"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*((name, name) for name in self._known()), (self.OTHERS, "another model")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        name = self.value()
        if name is None:
            return queryset
        if name == self.OTHERS:
            return queryset.exclude(model_name__in=["", *self._known()])
        return queryset.filter(model_name=name)

    def _known(self) -> list[str]:
        asked = [
            about.model
            for spec in get_specs().values()
            for about in (spec.page_summaries, spec.artifact_summaries, spec.questions)
            if about is not None
        ]
        names = [EXTRACTIVE, BY_HAND, settings.STRATA_LLM_MODEL, *sorted(asked)]
        return [name for name in dict.fromkeys(names) if name]


class EntityFilter(admin.SimpleListFilter):
    title = "kind"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("page", "of pages"), ("artifact", "of artifacts")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Summary]) -> QuerySet[Summary]:
        if self.value() is None:
            return queryset
        return queryset.filter(page__isnull=self.value() == "artifact")


class ProseField(forms.CharField):
    """Text from a browser, as texts are kept here: clean, and one character a line's end."""

    widget = AdminTextareaWidget

    def to_python(self, value: Any) -> str:
        return clean_text(super().to_python(value) or "").replace("\r\n", "\n")


class SummaryForm(forms.ModelForm):
    text = ProseField(
        max_length=MAX_SUMMARY_CHARS,
        help_text="A text changed here is taken over as it is, and embedded again.",
    )


class AnnotationForm(forms.ModelForm):
    questions = ProseField(required=False, help_text="One a line.")
    summary = ProseField(required=False, max_length=1_000, help_text="In one line.")
    fields = ProseField(  # type: ignore[assignment]  # Django takes it out of the class
        required=False, help_text="A JSON object of fields that the index's spec declares."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["questions"] = "\n".join(self.instance.questions)
        self.initial["fields"] = json.dumps(self.instance.fields, ensure_ascii=False, indent=2)

    def clean_questions(self) -> list[str]:
        lines = [line.strip() for line in self.cleaned_data["questions"].splitlines()]
        questions = list(dict.fromkeys(line for line in lines if line))
        if len(questions) > MAX_QUESTIONS:
            raise forms.ValidationError(f"A chunk may have {MAX_QUESTIONS} questions.")
        if any(len(question) > MAX_QUESTION_CHARS for question in questions):
            raise forms.ValidationError(f"A question may have {MAX_QUESTION_CHARS} characters.")
        return questions

    def clean_summary(self) -> str:
        return " ".join(self.cleaned_data["summary"].split())

    def clean_fields(self) -> dict[str, Any]:
        try:
            fields = MetadataTextField().run_validation(self.cleaned_data["fields"])
            return services.clean_fields(self.instance.build, fields)
        except InvalidJSON as error:
            raise forms.ValidationError([str(each) for each in error.detail]) from None
        except InvalidInput as error:
            allowed = f" Allowed: {', '.join(error.allowed)}." if error.allowed else ""
            raise forms.ValidationError(f"{error}{allowed}") from None


class WritingAdmin(Listed):
    """Rows a writer writes, or whoever edits them here."""

    list_select_related = ["artifact", "page", "build"]
    long_fields = [
        "last_error",
        "page__text",
        "build__recipe",
        *(f"artifact__{name}" for name in ArtifactAdmin.long_fields),
    ]
    editable: tuple[str, ...] = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).annotate(error=Left("last_error", ERROR_CHARS))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        names = [field.name for field in self.opts.fields if field.name != self.opts.pk.name]
        return [name for name in names if name not in self.editable]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        is_retired = obj is not None and obj.build.state == IndexBuild.State.RETIRED
        return not is_retired and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="last error")
    def error(self, row: Any) -> str:
        return row.error


@admin.register(Summary)
class SummaryAdmin(WritingAdmin):
    form = SummaryForm
    editable = ("text",)
    list_display = [
        "artifact", "page", "build", "state", "model_name", "is_by_hand", "error", "written_at",
    ]  # fmt: skip
    list_filter = ["state", IndexOfBuildFilter, EntityFilter, ModelNameFilter, "is_by_hand"]
    search_fields = ["artifact__title"]
    search_help_text = "Title, or the id of the artifact or the page."
    long_fields = [*WritingAdmin.long_fields, "text", "citations"]
    id_fields = ["artifact", "page"]
    actions = ["summarise_again"]

    def save_model(
        self, request: HttpRequest, obj: Summary, form: forms.ModelForm, change: bool
    ) -> None:
        if form.changed_data:
            services.take_summary(obj.artifact_id, obj.page_id, form.cleaned_data["text"])

    @admin.action(description="Summarise again", permissions=["queue"])
    def summarise_again(self, request: HttpRequest, queryset: QuerySet[Summary]) -> None:
        say_summaries(self, request, write_again(selected(queryset)))


@admin.register(Annotation)
class AnnotationAdmin(WritingAdmin):
    """Chunks, with what is asked of them and said about them."""

    form = AnnotationForm
    editable = ("questions", "summary", "fields")
    list_display = [
        "artifact", "page", "chunk_index", "line", "build", "state", "model_name", "is_by_hand",
        "error", "written_at",
    ]  # fmt: skip
    list_filter = ["state", IndexOfBuildFilter, ModelNameFilter, "is_by_hand"]
    search_fields = ["artifact__title", "heading"]
    search_help_text = "Title, heading, or the id of the chunk, its artifact, page or source."
    long_fields = [*WritingAdmin.long_fields, "text", "questions", "summary", "fields"]
    id_fields = ["artifact", "page", "source"]
    actions = ["ask_again"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Annotation]:
        return super().get_queryset(request).annotate(line=Left("summary", LINE_CHARS))

    def has_id(self, wanted: UUID) -> Q:
        builds = [*IndexBuild.objects.values_list("pk", flat=True)]
        return super().has_id(wanted) | Q(build__in=builds, chunk_id=wanted)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        title = {"title": "Chunks with questions", "module_name": "chunks with questions"}
        return super().changelist_view(request, {**title, **(extra_context or {})})

    def save_model(
        self, request: HttpRequest, obj: Annotation, form: forms.ModelForm, change: bool
    ) -> None:
        if form.changed_data:
            said = {name: form.cleaned_data[name] for name in self.editable}
            services.take_annotation(obj.pk, **said)

    @admin.display(description="summary")
    def line(self, row: Any) -> str:
        return row.line

    @admin.action(description="Ask again", permissions=["queue"])
    def ask_again(self, request: HttpRequest, queryset: QuerySet[Annotation]) -> None:
        say_chunks(self, request, write_again(selected(queryset)))
