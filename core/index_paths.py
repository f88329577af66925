"""What leads from a row to the name of its index. Each model says it once, as ``index_path``."""

from django.db.models import Model


def get_index_path(model: type[Model]) -> str:
    """The path as filters take it, such as ``source__artifact__index``; empty if the model's rows
    belong to no index."""
    return getattr(model, "index_path", "")
