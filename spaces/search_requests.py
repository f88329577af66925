"""Reads and checks the parameters of searches in separate vector spaces."""

from typing import Any

from rest_framework import serializers

from core.openapi import with_example
from core.serializers import FlagField, StringField
from retrieval.search import MAX_LIMIT, MAX_OFFSET, StaleHitPolicy
from retrieval.serializers.requests import FilterField, FiniteFloatField, QuerySerializer
from spaces.rdkit_model import MAX_SMILES_CHARS


class SpaceParametersSerializer(QuerySerializer):
    """The parameters of a search that ranks artifacts in a separate vector space and by words."""

    limit = serializers.IntegerField(
        default=10, min_value=1, max_value=MAX_LIMIT, help_text="Maximum number of artifacts."
    )
    offset = serializers.IntegerField(default=0, min_value=0, max_value=MAX_OFFSET)
    min_similarity = FiniteFloatField(
        required=False,
        min_value=0,
        max_value=1,
        source="min_score",
        help_text="Minimum similarity in that vector space.",
    )
    filter = FilterField(required=False)
    verify = FlagField(default=True)
    stale = serializers.ChoiceField(
        choices=[str(stale) for stale in StaleHitPolicy], default="flag"
    )
    min_revision = serializers.IntegerField(required=False, min_value=0)


@with_example({"index": "pharmacy", "structure": "CC(=O)Oc1ccccc1C(=O)O", "limit": 5})
class StructureParametersSerializer(SpaceParametersSerializer):
    """A chemical structure, and optionally words."""

    structure = StringField(
        max_length=MAX_SMILES_CHARS,
        help_text="SMILES, such as CC(=O)Oc1ccccc1C(=O)O; percent-encoded in a query string.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        text = super().validate(attrs)["query"] if {"query", "q"} & attrs.keys() else None
        attrs |= {"query": attrs.pop("structure"), "text": text}
        return attrs


@with_example({"index": "gallery", "query": "a red boat", "limit": 5})
class ImageParametersSerializer(SpaceParametersSerializer):
    """Words that describe the image."""

    with_text = FlagField(default=True, help_text="Rank artifacts by their passages as well.")
