"""Admin pages for summaries and chunk annotations: view them, edit them, have them rewritten."""

import json
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminTextareaWidget
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest, HttpResponse
from django.utils.translation import ngettext
from rest_framework.exceptions import ValidationError as InvalidJSON

from core.admin import ServiceRowAdmin, offer_actions, select_rows
from core.enqueueing import enqueue_on_commit
from core.exceptions import InvalidInput
from core.text import clean_text
from documents.admin import ArtifactAdmin
from documents.models import Artifact, Page
from documents.serializers import MetadataTextField
from documents.tasks import reconcile_documents
from indexing.admin import ERROR_CHARS, IndexOfBuildFilter, enqueue_sync_of_pending_builds
from indexing.models import IndexBuild, Node
from indexing.spec.loaded import get_specs
from summaries import services, tasks
from summaries.models import EXTRACTIVE_MODEL_NAME, Annotation, Summary, WrittenText
from summaries.serializers import MAX_SUMMARY_CHARS
from summaries.writers import BY_HAND_MODEL_NAME

MAX_QUESTIONS = 20  # as many as a spec may ask for
MAX_QUESTION_CHARS = 500
SUMMARY_PREVIEW_CHARS = 120  # in a list of summaries


# --- Queueing --------------------------------------------------------------------------------


def enqueue_writing_of_due_builds() -> None:
    """On commit, enqueue the writing task for every build that has due texts."""
    due = [
        Exists(model._default_manager.filter(build=OuterRef("pk"), state=WrittenText.State.DUE))
        for model in services.KINDS_BY_MODEL
    ]
    builds = IndexBuild.objects.not_retired().filter(due[0] | due[1])
    for build_id in builds.values_list("pk", flat=True):
        enqueue_on_commit(tasks.write_due_texts, build_id=build_id)


def rewrite_and_show(
    model_admin: ServiceRowAdmin, request: HttpRequest, rows: QuerySet[Any]
) -> None:
    count = services.request_rewrite(
        rows.filter(build__in=IndexBuild.objects.not_retired().values("pk"))
    )
    enqueue_writing_of_due_builds()
    one, many = ("summary", "summaries") if rows.model is Summary else ("chunk", "chunks")
    model_admin.show_count(request, f"%d {one} queued.", f"%d {many} queued.", count)


# --- Artifacts and pages ---------------------------------------------------------------------

# These actions keep texts by hand. The list of each model has an action that rewrites those.


@admin.action(description="Summarise again, except summaries by hand", permissions=["queue"])
def summarise_artifacts_again(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    summaries = Summary.objects.filter(artifact__in=select_rows(queryset), is_by_hand=False)
    rewrite_and_show(model_admin, request, summaries)


@admin.action(description="Write questions again, except those by hand", permissions=["queue"])
def rewrite_artifact_questions(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    chunks = Annotation.objects.filter(artifact__in=select_rows(queryset), is_by_hand=False)
    rewrite_and_show(model_admin, request, chunks)


@admin.action(description="Retry failed", permissions=["queue"])
def retry_failed_artifacts(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Artifact]
) -> None:
    """Retry all failed work of these artifacts: parsing, writing and embedding."""
    artifacts = select_rows(queryset)
    retried = services.retry_failed_work(artifacts, Node.objects.filter(artifact__in=artifacts))
    if retried.files:
        enqueue_on_commit(reconcile_documents)
    enqueue_sync_of_pending_builds()
    enqueue_writing_of_due_builds()
    counts = [
        ngettext("%d file", "%d files", retried.files) % retried.files,
        ngettext("%d text", "%d texts", retried.texts) % retried.texts,
        ngettext("%d node", "%d nodes", retried.nodes) % retried.nodes,
    ]
    queued = ", ".join(counts)
    model_admin.message_user(request, f"Queued again: {queued}.", messages.SUCCESS)


@admin.action(description="Summarise again, except summaries by hand", permissions=["queue"])
def summarise_pages_again(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Page]
) -> None:
    summaries = Summary.objects.filter(page__in=select_rows(queryset), is_by_hand=False)
    rewrite_and_show(model_admin, request, summaries)


offer_actions(
    Artifact, summarise_artifacts_again, rewrite_artifact_questions, retry_failed_artifacts
)
offer_actions(Page, summarise_pages_again)


# --- Written texts ---------------------------------------------------------------------------


class ModelNameFilter(admin.SimpleListFilter):
    """Filter by model name: the names in use now, and one choice for all others, because listing
    those would read every row."""

    title = "written by"
    parameter_name = "model_name"
    OTHERS = "-"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            *((name, name) for name in self._known_model_names()),
            (self.OTHERS, "another model"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        name = self.value()
        if name is None:
            return queryset
        if name == self.OTHERS:
            return queryset.exclude(model_name__in=["", *self._known_model_names()])
        return queryset.filter(model_name=name)

    def _known_model_names(self) -> list[str]:
        spec_model_names = [
            section.model
            for spec in get_specs().values()
            for section in (spec.page_summaries, spec.artifact_summaries, spec.questions)
            if section is not None
        ]
        names = [
            EXTRACTIVE_MODEL_NAME,
            BY_HAND_MODEL_NAME,
            settings.STRATA_LLM_MODEL,
            *sorted(spec_model_names),
        ]
        return [name for name in dict.fromkeys(names) if name]


class SummaryKindFilter(admin.SimpleListFilter):
    title = "kind"
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("page", "of pages"), ("artifact", "of artifacts")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Summary]) -> QuerySet[Summary]:
        if self.value() is None:
            return queryset
        return queryset.filter(page__isnull=self.value() == "artifact")


class CleanTextField(forms.CharField):
    """A text field that cleans its text and converts line ends to ``\\n``."""

    widget = AdminTextareaWidget

    def to_python(self, value: Any) -> str:
        return clean_text(super().to_python(value) or "").replace("\r\n", "\n")


class SummaryForm(forms.ModelForm):
    text = CleanTextField(
        max_length=MAX_SUMMARY_CHARS,
        help_text="A change is saved as you typed it, and embedded again.",
    )


class AnnotationForm(forms.ModelForm):
    questions = CleanTextField(required=False, help_text="One a line.")
    summary = CleanTextField(required=False, max_length=1_000, help_text="In one line.")
    fields = CleanTextField(  # type: ignore[assignment]  # Django removes it from the class
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
            raise forms.ValidationError(f"A chunk may have at most {MAX_QUESTIONS} questions.")
        if any(len(question) > MAX_QUESTION_CHARS for question in questions):
            raise forms.ValidationError(
                f"A question may have at most {MAX_QUESTION_CHARS} characters."
            )
        return questions

    def clean_summary(self) -> str:
        return " ".join(self.cleaned_data["summary"].split())

    def clean_fields(self) -> dict[str, Any]:
        try:
            fields = MetadataTextField().run_validation(self.cleaned_data["fields"])
            return services.clean_chunk_fields(self.instance.build, fields)
        except InvalidJSON as error:
            raise forms.ValidationError([str(each) for each in error.detail]) from None
        except InvalidInput as error:
            allowed = f" Allowed: {', '.join(error.allowed)}." if error.allowed else ""
            raise forms.ValidationError(f"{error}{allowed}") from None


class WrittenTextAdmin(ServiceRowAdmin):
    """Base class for rows that a writer writes and people may edit."""

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
class SummaryAdmin(WrittenTextAdmin):
    form = SummaryForm
    editable = ("text",)
    list_display = [
        "artifact", "page", "build", "state", "model_name", "is_by_hand", "error", "written_at",
    ]  # fmt: skip
    list_filter = ["state", IndexOfBuildFilter, SummaryKindFilter, ModelNameFilter, "is_by_hand"]
    search_fields = ["artifact__title"]
    search_help_text = "Title, or the id of the artifact or the page."
    long_fields = [*WrittenTextAdmin.long_fields, "text", "citations"]
    id_fields = ["artifact", "page"]
    actions = ["summarise_again"]

    def save_model(
        self, request: HttpRequest, obj: Summary, form: forms.ModelForm, change: bool
    ) -> None:
        if form.changed_data:
            services.edit_summary(obj.artifact_id, obj.page_id, form.cleaned_data["text"])

    @admin.action(description="Summarise again", permissions=["queue"])
    def summarise_again(self, request: HttpRequest, queryset: QuerySet[Summary]) -> None:
        rewrite_and_show(self, request, select_rows(queryset))


@admin.register(Annotation)
class AnnotationAdmin(WrittenTextAdmin):
    """Chunks with their questions, summary and fields."""

    form = AnnotationForm
    editable = ("questions", "summary", "fields")
    list_display = [
        "artifact", "page", "chunk_index", "line", "build", "state", "model_name", "is_by_hand",
        "error", "written_at",
    ]  # fmt: skip
    list_filter = ["state", IndexOfBuildFilter, ModelNameFilter, "is_by_hand"]
    search_fields = ["artifact__title", "heading"]
    search_help_text = "Title, heading, or the id of the chunk, its artifact, page or source."
    long_fields = [*WrittenTextAdmin.long_fields, "text", "questions", "summary", "fields"]
    id_fields = ["artifact", "page", "source"]
    actions = ["rewrite_questions"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Annotation]:
        return super().get_queryset(request).annotate(line=Left("summary", SUMMARY_PREVIEW_CHARS))

    def id_condition(self, searched_id: UUID) -> Q:
        builds = [*IndexBuild.objects.values_list("pk", flat=True)]
        return super().id_condition(searched_id) | Q(build__in=builds, chunk_id=searched_id)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        title = {"title": "Chunks with questions", "module_name": "chunks with questions"}
        return super().changelist_view(request, {**title, **(extra_context or {})})

    def save_model(
        self, request: HttpRequest, obj: Annotation, form: forms.ModelForm, change: bool
    ) -> None:
        if form.changed_data:
            form_values = {name: form.cleaned_data[name] for name in self.editable}
            services.edit_annotation(obj.pk, **form_values)

    @admin.display(description="summary")
    def line(self, row: Any) -> str:
        return row.line

    @admin.action(description="Write questions again", permissions=["queue"])
    def rewrite_questions(self, request: HttpRequest, queryset: QuerySet[Annotation]) -> None:
        rewrite_and_show(self, request, select_rows(queryset))
