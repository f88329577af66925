"""Use the admin's lists as a browser does."""

from typing import Any

from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse


def act(client: Client, model: str, action: str, *rows: Any, **filters: Any) -> str:
    """Run ``action`` on these rows, or without rows on the whole list over all its pages, and
    confirm it where that is asked; return the message."""
    answer = start(client, model, action, *rows, **filters)
    if answer.status_code == 200:
        answer = client.post(
            reverse(f"admin:{model}_changelist", query=filters),
            {**_fields_of(answer.context["hidden"]), "confirmed": "yes"},
        )
    assert answer.status_code == 302, answer.content.decode()
    *_, last = get_messages(answer.wsgi_request)
    return str(last)


def start(client: Client, model: str, action: str, *rows: Any, **filters: Any) -> Any:
    """The answer to an action that is not confirmed yet."""
    chosen = [row.pk for row in rows]
    return client.post(
        reverse(f"admin:{model}_changelist", query=filters),
        {
            "action": action,
            "index": "0",
            "select_across": "0" if chosen else "1",
            "_selected_action": chosen or ["0"],  # the boxes of the first page, whatever they are
        },
    )


def _fields_of(hidden: list[tuple[str, str]]) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    for name, value in hidden:
        fields.setdefault(name, []).append(value)
    return fields


def offered(client: Client, model: str) -> set[str]:
    """The actions that a list offers."""
    form = client.get(reverse(f"admin:{model}_changelist")).context["action_form"]
    return set() if form is None else {name for name, _ in form.fields["action"].choices if name}


def record_enqueued(monkeypatch, *tasks: Any) -> list[tuple[str, dict[str, Any]]]:
    """Record calls of these tasks instead of running them."""
    enqueued: list[tuple[str, dict[str, Any]]] = []
    for task in tasks:
        name = task.name.rpartition(".")[2]
        monkeypatch.setattr(
            task, "delay", lambda name=name, **given: enqueued.append((name, given))
        )
    return enqueued
