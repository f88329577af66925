"""The addresses that chat windows and builders ask, all below ``/v1``, which is their base URL.

Without the app ``answers`` nothing answers questions, so there are no models.
"""

from django.apps import apps
from django.urls import path

from guests.knowledge import RetrievalView
from guests.vector_stores import VectorStoreListView, VectorStoreSearchView, VectorStoreView

urlpatterns = [
    path("v1/vector_stores", VectorStoreListView.as_view(), name="vector-stores"),
    path("v1/vector_stores/<str:index>", VectorStoreView.as_view(), name="vector-store"),
    path("v1/vector_stores/<str:index>/search", VectorStoreSearchView.as_view()),
    path("v1/retrieval", RetrievalView.as_view(), name="retrieval"),
]
if apps.is_installed("answers"):
    from guests.chat import answer_chat
    from guests.chat_models import ModelListView, ModelView

    urlpatterns += [
        path("v1/models", ModelListView.as_view(), name="models"),
        path("v1/models/<str:model>", ModelView.as_view(), name="model"),
        path("v1/chat/completions", answer_chat, name="chat-completions"),
    ]
