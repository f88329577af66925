from core.apps import StrataApp


class AccessConfig(StrataApp):
    name = "access"
    api_urls = "access.urls"
