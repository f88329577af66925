from django.apps import AppConfig


class EvaluationConfig(AppConfig):
    name = "evaluation"

    def ready(self) -> None:
        from evaluation import signals, tasks  # noqa: F401 - web servers enqueue these tasks, too
