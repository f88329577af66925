from core.apps import StrataApp


class GuestsConfig(StrataApp):
    name = "guests"
    urls = "guests.urls"
    streaming_paths = frozenset({"/v1/chat/completions"})
