from core.apps import StrataApp


class BackupConfig(StrataApp):
    name = "backup"
    commands_that_write = frozenset({"import", "restore"})
