from core.apps import StrataApp


class AnswersConfig(StrataApp):
    name = "answers"
    urls = "answers.page_urls"
    api_urls = "answers.urls"
    streaming_paths = frozenset({"/api/v1/ask"})
    search_choices = "answers/search_choices.html"
    project_folders = ["pipelines"]
    tools = "answers.agent_tools.TOOLS"
    preload = "answers.pipelines.loading.preload_pipelines"

    def ready(self) -> None:
        super().ready()
        from answers.measured import MeasuredPipelines
        from answers.search_relevance import judge_search
        from retrieval.hooks import register_pipelines, register_search_judge

        register_search_judge(judge_search)
        register_pipelines(MeasuredPipelines())
