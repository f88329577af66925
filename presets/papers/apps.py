from django.apps import AppConfig


class PapersConfig(AppConfig):
    name = "presets.papers"
    label = "papers"
