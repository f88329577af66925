from core.apps import StrataApp, Task, WaitingRows


class SummariesConfig(StrataApp):
    name = "summaries"
    api_urls = "summaries.urls"
    tasks = [
        Task("write_due_texts", queue="llm"),
        Task("reconcile_written_texts", every=60, purpose="texts"),
    ]
    workers = ["writing_worker"]
    waiting_rows = [
        WaitingRows("cutting sources into chunks", "Segmentation", ["due"]),
        WaitingRows("writing summaries", "Summary", ["due"]),
        WaitingRows("writing questions and fields", "Annotation", ["due"]),
    ]
    exported = ["Summary", "Annotation", "Segmentation"]

    def ready(self) -> None:
        super().ready()
        from indexing.drafting import register_input_planner
        from indexing.estimates import register_node_estimator
        from indexing.hooks import (
            register_awaited_texts,
            register_page_summary_reader,
            register_segmentations,
            register_text_faults,
        )
        from summaries import estimates
        from summaries.services import describe_due_texts, plan_written_texts
        from summaries.services.failures import find_written_text_faults
        from summaries.text_nodes import SegmentationReader, read_context_summaries

        register_input_planner(plan_written_texts)
        register_awaited_texts(describe_due_texts)
        register_text_faults(find_written_text_faults)
        register_page_summary_reader(read_context_summaries)
        register_segmentations(SegmentationReader())
        register_node_estimator("chunk", estimates.estimate_chunks)
        register_node_estimator("page_summary", estimates.estimate_page_summaries)
        register_node_estimator("artifact_summary", estimates.estimate_artifact_summary)
        register_node_estimator("question", estimates.estimate_questions)
