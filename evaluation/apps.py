from core.apps import PathObject, StrataApp, Task, WaitingRows


class EvaluationConfig(StrataApp):
    name = "evaluation"
    api_urls = "evaluation.urls"
    tasks = [
        # Both search, so they run where the embedding model is loaded.
        Task("measure_run", queue="indexing"),
        # It costs one query if no promotion is requested.
        Task("promote_builds", queue="indexing", every=10, purpose="promotion"),
        Task("reconcile_runs", every=60),
    ]
    workers = ["promotion_worker", "evaluation_worker"]
    waiting_rows = [
        WaitingRows(
            "measuring", "EvaluationRun", ["queued", "running"],
            since="created_at", error="error_detail",
        )
    ]  # fmt: skip
    path_objects = {
        "run_id": PathObject("EvaluationRun"),
        "judgement_id": PathObject("Judgement"),
    }
    project_folders = ["golden"]
    exported = ["Judgement"]
