"""Admin pages to create, edit, merge and review concepts, relationships and extractions."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AdminTextareaWidget
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest

from concepts import extraction, services, tasks
from concepts.models import (
    Concept,
    EmergentPair,
    Extraction,
    Instance,
    Relationship,
    RelationshipType,
)
from core.admin import (
    Effect,
    ReadOnlyAdmin,
    ServiceRowAdmin,
    UndeletableRowAdmin,
    confirmed_action,
    name_targets,
    select_rows,
)
from core.enqueueing import enqueue_on_commit
from core.exceptions import StrataError
from documents.admin import IndexFilter
from indexing.admin import embed_again
from indexing.models import IndexBuild, Node


class EntityForm(forms.ModelForm):
    """Offers the index of a new entity, among the indexes that hold concepts. Saves through the
    services when all fields are valid, and shows their errors; the admin opens a transaction around
    it."""

    index = forms.ChoiceField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not self.instance._state.adding:
            del self.fields["index"]
            return
        field: Any = self.fields["index"]
        field.choices = [(name, name) for name in sorted(services.list_concept_indexes())]

    def full_clean(self) -> None:
        super().full_clean()
        if self.is_bound and not self.errors:
            try:
                self._save_with_services()
            except StrataError as error:
                field = error.field if error.field in self.fields else None
                self.add_error(field, error.with_fix())

    def _save_with_services(self) -> None:
        texts, model = {**self.cleaned_data}, type(self.instance)
        if self.instance._state.adding:
            self.instance.pk = services.create_entity(model, texts.pop("index"), **texts).pk
        else:
            services.edit_entity(model, self.instance.pk, **texts)


class ConceptForm(EntityForm):
    search_terms = forms.CharField(
        required=False, widget=AdminTextareaWidget(attrs={"rows": 4}), help_text="One per line."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial["search_terms"] = "\n".join(self.instance.search_terms)

    def clean_search_terms(self) -> list[str]:
        return [line for line in self.cleaned_data["search_terms"].splitlines() if line.strip()]


class EvidenceFilter(admin.SimpleListFilter):
    title = parameter_name = "evidence"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("none", "none (to review)"), ("some", "some")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        concepts: Any = queryset
        amount = self.value()
        return concepts if amount is None else concepts.with_quotes(amount)


class AddableRowAdmin(ServiceRowAdmin):
    actions: list[Any] = []

    def has_add_permission(self, request: HttpRequest) -> bool:
        return admin.ModelAdmin.has_add_permission(self, request)


class EntityAdmin(AddableRowAdmin):
    form = EntityForm
    id_fields = ["pk"]
    actions = ["embed_again"]

    @confirmed_action("Embed again")
    def embed_again(self, request: HttpRequest, queryset: QuerySet[Any]) -> Effect:
        nodes = Node.objects.filter(artifact=None, point_id__in=queryset.values("pk"))
        return embed_again(nodes, name_targets(queryset))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = [*self.model.text_fields, *self.model.label_fields]
        return fields if obj is not None else ["index", *fields]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        """The form has saved it."""

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        services.remove_entity(self.model, obj.pk)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for entity_id in list(queryset.values_list("pk", flat=True)):
            services.remove_entity(self.model, entity_id)


@admin.register(Concept)
class ConceptAdmin(EntityAdmin):
    form = ConceptForm
    list_display = ["label", "index", "evidence_count"]
    list_filter = [IndexFilter, EvidenceFilter]
    search_fields = ["label", "description"]
    search_help_text = "Label, description, or the concept's id."
    ordering = ["label", "id"]
    actions = [*EntityAdmin.actions, "merge_concepts"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        evidence = Count("quotes", filter=Q(quotes__is_lost=False))
        return super().get_queryset(request).annotate(evidence_count=evidence)

    @admin.display(description="quotes")
    def evidence_count(self, row: Any) -> int:
        return int(row.evidence_count)

    @admin.action(description="Merge into the alphabetically first concept", permissions=["change"])
    def merge_concepts(self, request: HttpRequest, queryset: QuerySet[Concept]) -> None:
        ids = list(select_rows(queryset).order_by("label", "pk").values_list("pk", flat=True))
        try:
            target = services.merge_concepts(ids[0], ids[1:])
        except StrataError as error:
            self.message_user(request, str(error), messages.ERROR)
            return
        self.message_user(request, f"Merged {len(ids)} concepts into {target}.", messages.SUCCESS)


@admin.register(RelationshipType)
class RelationshipTypeAdmin(EntityAdmin):
    list_display = ["name", "category", "index"]
    list_filter = [IndexFilter, "category"]
    search_fields = ["name", "description"]
    search_help_text = "Name, description, or the type's id."
    ordering = ["name", "id"]


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
class RelationshipAdmin(AddableRowAdmin):
    form = RelationshipForm
    list_display = ["source", "type", "target"]
    list_filter = [IndexFilter]
    list_select_related = ["source", "type", "target"]
    search_fields = ["source__label", "target__label", "type__name"]
    raw_id_fields = ["source", "type", "target"]
    id_fields = ["pk", "source", "target", "type"]


class ReviewFilter(admin.SimpleListFilter):
    title, parameter_name = "review", "review"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("open", "open"), ("dismissed", "dismissed")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        pairs: Any = queryset
        if self.value() == "open":
            return pairs.open()
        return pairs.dismissed() if self.value() == "dismissed" else pairs


@admin.register(EmergentPair)
class EmergentPairAdmin(UndeletableRowAdmin):
    """Read-only: the page *Concepts* relates or dismisses pairs. A deleted pair would be found
    again."""

    list_display = ["__str__", "similarity", "found_at", "dismissed_at"]
    list_filter = [ReviewFilter, IndexFilter]
    list_select_related = ["first", "second"]
    search_fields = ["first__label", "second__label"]
    id_fields = ["pk", "first", "second"]


@admin.register(Extraction)
class ExtractionAdmin(UndeletableRowAdmin):
    list_display = [
        "source", "state", "model_name", "concept_count", "refused_count", "attempts",
        "written_at",
    ]  # fmt: skip
    list_filter = ["state", IndexFilter]
    list_select_related = ["source__artifact"]
    search_fields = ["source__artifact__title", "last_error"]
    search_help_text = "Title, error, or the id of the source or its document."
    id_fields = ["pk", "source", "source__artifact"]
    actions = ["requeue_extractions"]

    @confirmed_action("Extract concepts again")
    def requeue_extractions(self, request: HttpRequest, queryset: QuerySet[Extraction]) -> Effect:
        count = queryset.count()

        def carry_out() -> str:
            indexes = set(queryset.values_list("source__artifact__index", flat=True))
            changed = extraction.requeue_extractions(queryset)
            for build in IndexBuild.objects.live().filter(index__in=indexes):
                enqueue_on_commit(tasks.extract_concepts, build_id=build.pk)
            return f"Sources whose concepts are extracted again: {changed:,}."

        return Effect(
            f"Sources whose concepts are extracted again: {count:,}.",
            count,
            name_targets(queryset, "source__artifact"),
            carry_out,
        )


@admin.register(Instance)
class QuoteAdmin(ReadOnlyAdmin):
    """Read-only, because the API and imports add quotes and locate them in the text."""

    list_display = ["__str__", "concept", "artifact", "is_lost"]
    list_filter = ["is_lost", IndexFilter]
    list_select_related = ["concept", "artifact"]
    search_fields = ["quote", "concept__label"]
    search_help_text = "Quote, label, or the id of the quote, its concept or its document."
    ordering = ["-created_at", "-id"]
    id_fields = ["pk", "concept", "artifact", "source"]
    actions: list[Any] = []

    def delete_model(self, request: HttpRequest, obj: Instance) -> None:
        services.remove_quotes(Instance.objects.filter(pk=obj.pk))

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Instance]) -> None:
        services.remove_quotes(Instance.objects.filter(pk__in=queryset.values("pk")))
