"""Admin pages to create, edit, merge and review concepts, relationships and extractions."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminTextareaWidget
from django.db.models import QuerySet
from django.http import HttpRequest

from concepts import emergent_pairs, extraction, services, tasks
from concepts.models import (
    Concept,
    EmergentPair,
    Extraction,
    Instance,
    Relationship,
    RelationshipType,
)
from core.admin import ReadOnlyAdmin, ServiceRowAdmin, UndeletableRowAdmin, select_rows
from core.enqueueing import enqueue_on_commit
from core.exceptions import InvalidInput, StrataError
from documents.admin import ArtifactIndexFilter, IndexFilter
from indexing.models import IndexBuild


class _EntityForm(forms.ModelForm):
    """Offers the index of a new entity, among the indexes that hold concepts."""

    index = forms.ChoiceField()
    name_field: str
    find_existing: Callable[[str, str], Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            del self.fields["index"]
            return
        builds = IndexBuild.objects.not_retired().readable()
        names = sorted({build.index_id for build in builds if build.spec.concepts})
        field: Any = self.fields["index"]
        field.choices = [(name, name) for name in names]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        index = cleaned.get("index") if self.instance._state.adding else self.instance.index
        if index and cleaned.get(self.name_field):
            found = self.find_existing(index, cleaned[self.name_field])
            if found is not None and found.pk != self.instance.pk:
                self.add_error(self.name_field, f"{index} already has {found}.")
        return cleaned

    def service_arguments(self) -> dict[str, Any]:
        """The cleaned data without the index."""
        return {name: value for name, value in self.cleaned_data.items() if name != "index"}


class ConceptForm(_EntityForm):
    search_terms = forms.CharField(
        required=False, widget=AdminTextareaWidget(attrs={"rows": 4}), help_text="One per line."
    )
    name_field = "label"
    find_existing = staticmethod(services.find_concept)

    class Meta:
        model = Concept
        fields = ["label", "description", "search_terms"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["search_terms"] = "\n".join(self.instance.search_terms)

    def clean_search_terms(self) -> list[str]:
        lines = self.cleaned_data["search_terms"].splitlines()
        try:
            return services.clean_search_terms([line for line in lines if line.strip()])
        except InvalidInput as error:
            raise forms.ValidationError(str(error)) from None


class RelationshipTypeForm(_EntityForm):
    name_field = "name"
    find_existing = staticmethod(services.find_relationship_type)

    class Meta:
        model = RelationshipType
        fields = ["name", "category", "description"]


class EvidenceFilter(admin.SimpleListFilter):
    title = parameter_name = "evidence"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("none", "none (to review)"), ("some", "some")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        concepts: Any = queryset
        if self.value() == "none":
            return concepts.without_evidence()
        return concepts.with_evidence() if self.value() == "some" else concepts


class RelationshipIndexFilter(IndexFilter):
    lookup = "source__index"


class _EntityAdmin(ServiceRowAdmin):
    id_fields = ["pk"]
    create: Callable[..., Any]
    edit: Callable[..., Any]
    remove: Callable[[UUID], int]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_add_permission(self, request)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        form: Any = self.form
        return [*form.Meta.fields] if obj is not None else ["index", *form.Meta.fields]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """Save through the services, which assign the next revision."""
        if change:
            self.edit(obj.pk, **form.service_arguments())
        else:
            obj.pk = self.create(form.cleaned_data["index"], **form.service_arguments()).pk

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.remove(obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for entity_id in list(queryset.values_list("pk", flat=True)):
            self.remove(entity_id)


@admin.action(description="Merge into the alphabetically first concept", permissions=["change"])
def merge_concepts(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Concept]
) -> None:
    ids = list(select_rows(queryset).order_by("label", "pk").values_list("pk", flat=True))
    try:
        target = services.merge_concepts(ids[0], ids[1:])
    except StrataError as error:
        model_admin.message_user(request, str(error), messages.ERROR)
        return
    model_admin.message_user(
        request, f"Merged {len(ids)} concepts into {target}.", messages.SUCCESS
    )


@admin.register(Concept)
class ConceptAdmin(_EntityAdmin):
    form = ConceptForm
    list_display = ["label", "index", "evidence_count"]
    list_filter = [IndexFilter, EvidenceFilter]
    search_fields = ["label", "description"]
    search_help_text = "Label, description, or the concept's id."
    ordering = ["label", "id"]
    actions = [merge_concepts]
    create = staticmethod(services.create_concept)
    edit = staticmethod(services.edit_concept)
    remove = staticmethod(services.remove_concept)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        concepts: Any = super().get_queryset(request)
        return concepts.with_evidence_count()

    @admin.display(description="evidence")
    def evidence_count(self, row: Any) -> int:
        return int(row.evidence_count)


@admin.register(RelationshipType)
class RelationshipTypeAdmin(_EntityAdmin):
    form = RelationshipTypeForm
    list_display = ["name", "category", "index"]
    list_filter = [IndexFilter, "category"]
    search_fields = ["name", "description"]
    search_help_text = "Name, description, or the type's id."
    ordering = ["name", "id"]
    actions: list[Any] = []
    create = staticmethod(services.create_relationship_type)
    edit = staticmethod(services.edit_relationship_type)
    remove = staticmethod(services.remove_relationship_type)


class RelationshipForm(forms.ModelForm):
    class Meta:
        model = Relationship
        fields = ["source", "type", "target"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        ends = [cleaned.get(name) for name in ("source", "type", "target")]
        if all(ends) and len({end.index for end in ends if end is not None}) > 1:
            raise forms.ValidationError("The concepts and the type must belong to one index.")
        return cleaned


@admin.register(Relationship)
class RelationshipAdmin(ServiceRowAdmin):
    form = RelationshipForm
    list_display = ["source", "type", "target"]
    list_filter = [RelationshipIndexFilter]
    list_select_related = ["source", "type", "target"]
    search_fields = ["source__label", "target__label", "type__name"]
    raw_id_fields = ["source", "type", "target"]
    id_fields = ["pk", "source", "target", "type"]
    actions: list[Any] = []

    def has_add_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_add_permission(self, request)


class EmergentPairForm(forms.ModelForm):
    """Accept a pair: choose the relationship type and the direction."""

    type = forms.ModelChoiceField(RelationshipType.objects.none(), label="relate as")
    is_reversed = forms.BooleanField(
        required=False, label="reversed", help_text="Relate the second concept to the first."
    )

    class Meta:
        model = EmergentPair
        fields: list[str] = []

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        index = self.instance.first.index
        field: Any = self.fields["type"]
        field.queryset = RelationshipType.objects.of_index(index).order_by("name")


@admin.action(description="Dismiss", permissions=["change"])
def dismiss_pairs(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[EmergentPair]
) -> None:
    ids = list(select_rows(queryset).values_list("pk", flat=True))
    for pair_id in ids:
        emergent_pairs.dismiss_pair(pair_id)
    model_admin.message_user(request, f"{len(ids)} dismissed.", messages.SUCCESS)


class ReviewFilter(admin.SimpleListFilter):
    title, parameter_name = "review", "review"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("open", "open"), ("dismissed", "dismissed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        pairs: Any = queryset
        if self.value() == "open":
            return pairs.open()
        return pairs.dismissed() if self.value() == "dismissed" else pairs


class PairIndexFilter(IndexFilter):
    lookup = "first__index"


@admin.register(EmergentPair)
class EmergentPairAdmin(ServiceRowAdmin):
    """Saving a pair with a type accepts it."""

    form = EmergentPairForm
    fields = ["first", "second", "similarity", "type", "is_reversed"]
    readonly_fields = ["first", "second", "similarity"]
    list_display = ["__str__", "similarity", "found_at", "dismissed_at"]
    list_filter = [ReviewFilter, PairIndexFilter]
    list_select_related = ["first", "second"]
    search_fields = ["first__label", "second__label"]
    id_fields = ["pk", "first", "second"]
    actions = [dismiss_pairs]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # a deleted pair would be found again

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        data = form.cleaned_data
        emergent_pairs.accept_pair(obj.pk, data["type"].pk, is_reversed=data["is_reversed"])


@admin.action(description="Extract concepts again", permissions=["queue"])
def requeue_extractions(
    model_admin: ServiceRowAdmin, request: HttpRequest, queryset: QuerySet[Extraction]
) -> None:
    rows = select_rows(queryset)
    indexes = set(rows.values_list("source__artifact__index", flat=True))
    count = extraction.requeue_extractions(rows)
    for build in IndexBuild.objects.live().filter(index__in=indexes):
        enqueue_on_commit(tasks.extract_concepts, build_id=build.pk)
    model_admin.show_count(request, "%d source queued.", "%d sources queued.", count)


class ExtractionIndexFilter(IndexFilter):
    lookup = "source__artifact__index"


@admin.register(Extraction)
class ExtractionAdmin(UndeletableRowAdmin):
    list_display = [
        "source", "state", "model_name", "concept_count", "refused_count", "attempts",
        "written_at",
    ]  # fmt: skip
    list_filter = ["state", ExtractionIndexFilter]
    list_select_related = ["source__artifact"]
    search_fields = ["source__artifact__title", "last_error"]
    search_help_text = "Title, error, or the id of the source or its document."
    id_fields = ["pk", "source", "source__artifact"]
    actions = [requeue_extractions]


@admin.register(Instance)
class InstanceAdmin(ReadOnlyAdmin):
    """Read-only, because the API and imports add quotes and locate them in the text."""

    list_display = ["__str__", "concept", "artifact", "is_lost"]
    list_filter = ["is_lost", ArtifactIndexFilter]
    list_select_related = ["concept", "artifact"]
    search_fields = ["quote", "concept__label"]
    search_help_text = "Quote, label, or the id of the instance, its concept or its document."
    ordering = ["-created_at", "-id"]
    id_fields = ["pk", "concept", "artifact", "source"]
    actions: list[Any] = []
