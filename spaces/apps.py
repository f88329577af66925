from core.apps import StrataApp
from core.embedding_providers import EmbeddingProvider
from core.node_kinds import Kind


class SpacesConfig(StrataApp):
    name = "spaces"
    kinds = [
        Kind(
            name="compound",
            plural="chemical structures",
            collection="compound",
            drafter="spaces.drafters.CompoundDrafter",
            switch="compounds",
            regeneration_type="compound",
            embedding="compounds.embedding",
            has_sparse=False,
            search="structures",
            check_metadata="spaces.drafters.check_structures",
        ),
        Kind(
            name="image",
            plural="images",
            collection="image",
            drafter="spaces.drafters.ImageDrafter",
            switch="images",
            regeneration_type="image",
            embedding="images.embedding",
            has_sparse=False,
            search="images",
        ),
    ]
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
