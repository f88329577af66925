from core.apps import StrataApp, Task


class CopiesConfig(StrataApp):
    name = "copies"
    api_urls = "copies.urls"
    documents_part = "copies/groups.html"
    diagnostics = "copies.groups.describe_groups"
    tasks = [Task("sketch_documents", every=60)]

    def ready(self) -> None:
        super().ready()
        from copies.groups import count_near_copies
        from documents.hooks import register_document_fields

        register_document_fields(count_near_copies)
