from core.apps import StrataApp


class ProcessingConfig(StrataApp):
    name = "processing"
