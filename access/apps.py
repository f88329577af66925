from core.apps import StrataApp


class AccessConfig(StrataApp):
    name = "access"
    urls = "access.page_urls"
    api_urls = "access.urls"
    commands_that_write = frozenset({"key"})
