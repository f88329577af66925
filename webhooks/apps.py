from core.apps import StrataApp, Task, WaitingRows


class WebhooksConfig(StrataApp):
    name = "webhooks"
    api_urls = "webhooks.urls"
    tasks = [
        Task("send_due_deliveries", queue="webhooks"),
        Task("reconcile_deliveries", every=60),
    ]
    workers = ["delivery_worker"]
    waiting_rows = [
        WaitingRows("sending webhooks", "Delivery", ["due"], failed="given_up", since="created_at")
    ]
