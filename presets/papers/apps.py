from core.apps import StrataApp


class PapersConfig(StrataApp):
    name = "presets.papers"
    label = "papers"
    commands_that_write = frozenset({"import_acl"})
