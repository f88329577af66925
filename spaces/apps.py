from core.apps import StrataApp
from core.embedding_providers import EmbeddingProvider
from spaces.kinds import KINDS


class SpacesConfig(StrataApp):
    name = "spaces"
    kinds = KINDS
    spec_sections = {"compounds": "spaces.spec.CompoundSpec", "images": "spaces.spec.ImageSpec"}
    searches = "spaces.searches.SEARCHES"
    embedding_providers = [
        EmbeddingProvider(
            name="rdkit",
            load="spaces.rdkit_model.load_fingerprint_model",
            describe_availability="spaces.rdkit_model.describe_availability",
            embeds="chemical structures",
            section="compounds",
        ),
        EmbeddingProvider(
            name="clip",
            load="spaces.clip_model.load_clip",
            describe_availability="spaces.clip_model.describe_availability",
            fetches_files=True,
            embeds="pictures",
            section="images",
        ),
    ]
