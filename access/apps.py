from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "access"

    def ready(self) -> None:
        from access import checks  # noqa: F401
