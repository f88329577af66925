from core.apps import StrataApp


class BackupConfig(StrataApp):
    name = "backup"
