from core.apps import StrataApp


class RetrievalConfig(StrataApp):
    name = "retrieval"
    api_urls = "retrieval.urls"
