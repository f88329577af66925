"""All providers of embedding models."""

from core.apps import list_apps
from core.embedding_providers import EmbeddingProvider

PROVIDERS: dict[str, EmbeddingProvider] = {
    provider.name: provider for app in list_apps() for provider in app.embedding_providers
}
