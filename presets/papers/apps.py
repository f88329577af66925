from core.apps import StrataApp


class PapersConfig(StrataApp):
    name = "presets.papers"
    label = "papers"
