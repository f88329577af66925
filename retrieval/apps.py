from core.apps import StrataApp
from retrieval.kinds import KINDS


class RetrievalConfig(StrataApp):
    name = "retrieval"
    kinds = KINDS
    searches = "retrieval.searches.SEARCHES"
    api_urls = "retrieval.urls"
