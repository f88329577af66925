from core.apps import StrataApp
from retrieval.kinds import KINDS


class RetrievalConfig(StrataApp):
    name = "retrieval"
    kinds = KINDS
    api_urls = "retrieval.urls"
