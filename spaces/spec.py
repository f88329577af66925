"""The sections of chemical structures and of images in a spec."""

from typing import TYPE_CHECKING, Annotated

from pydantic import AfterValidator, Field

from indexing.spec.sections import AppSection, EmbeddingSpec, check_model_name

if TYPE_CHECKING:
    from indexing.spec import IndexSpec

MORGAN_PREFIX = "morgan-"  # followed by the radius: a fingerprint as an embedding model


class CompoundSpec(AppSection):
    """Chemical structures in a separate vector space: Morgan fingerprints of the SMILES strings in
    a declared field."""

    field: str = "smiles"
    radius: int = Field(2, ge=1, le=4)  # bonds around each atom
    bits: int = Field(2_048, ge=256, le=8_192)

    @property
    def embedding(self) -> EmbeddingSpec:
        return EmbeddingSpec(
            provider="rdkit", model=f"{MORGAN_PREFIX}{self.radius}", dimension=self.bits
        )

    def find_problem(self, spec: "IndexSpec") -> str:
        declared = spec.metadata.get(self.field)
        if declared is not None and declared.type == "keyword" and not declared.lowercase:
            return ""
        return (
            f"compounds.field: {self.field!r} must be declared under metadata with type keyword "
            "and without lowercase"
        )


class ImageSpec(AppSection):
    """Images, in a vector space that they share with texts: that of the pair of fastembed models
    ``MODEL-vision`` and ``MODEL-text``."""

    model: Annotated[str, AfterValidator(check_model_name)] = "Qdrant/clip-ViT-B-32"
    dimension: int = Field(512, ge=1, le=65_536)

    @property
    def embedding(self) -> EmbeddingSpec:
        return EmbeddingSpec(provider="clip", model=self.model, dimension=self.dimension)
