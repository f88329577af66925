from core.apps import StrataApp, Task


class AuditConfig(StrataApp):
    name = "audit"
    api_urls = "audit.urls"
    around_change = "audit.commands.audit_command"
    tasks = [Task("seal_and_prune", every=60)]
