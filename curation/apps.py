from core.apps import PathObject, StrataApp, Task, WaitingRows


class CurationConfig(StrataApp):
    name = "curation"
    api_urls = "curation.urls"
    documents_part = "curation/list.html"
    document_part = "curation/document.html"
    tasks = [Task("work_on_edits"), Task("reconcile_edits", every=60)]
    workers = ["edit_worker"]
    waiting_rows = [
        WaitingRows("editing documents", "Edit", ["waiting", "undoing"], since="created_at")
    ]
    path_objects = {"edit_id": PathObject("Edit")}
