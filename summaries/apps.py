from django.apps import AppConfig


class SummariesConfig(AppConfig):
    name = "summaries"

    def ready(self) -> None:
        from indexing.estimates import register_node_estimator
        from indexing.kinds.registry import register_kind
        from summaries import checks, estimates, signals  # noqa: F401
        from summaries.kinds import ArtifactSummaryKind, PageSummaryKind, QuestionKind

        register_kind(PageSummaryKind())
        register_kind(ArtifactSummaryKind())
        register_kind(QuestionKind())
        register_node_estimator("page_summary", estimates.estimate_page_summaries)
        register_node_estimator("artifact_summary", estimates.estimate_artifact_summary)
        register_node_estimator("question", estimates.estimate_questions)
