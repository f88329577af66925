from core.apps import PathObject, StrataApp, Task, WaitingRows


class DocumentsConfig(StrataApp):
    name = "documents"
    api_urls = "documents.urls"
    tasks = [
        Task("parse_artifact", queue="documents"),
        Task("reconcile_documents", every=60),
    ]
    workers = ["parsing_worker"]
    waiting_rows = [
        WaitingRows(
            "reading files", "Artifact", ["received", "parsing"],
            since="updated_at", error="error_detail", code="error_code",
        )
    ]  # fmt: skip
    path_objects = {
        "artifact_id": PathObject("Artifact"),
        "page_id": PathObject("Page"),
        "source_id": PathObject("Source"),
    }
    exported = ["Artifact", "Reading", "Page", "Source"]
