"""Working the admin's lists as a browser does."""

from typing import Any

from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse


def act(client: Client, model: str, action: str, *rows: Any, **filters: Any) -> str:
    """Do ``action`` to these rows, or, with none named, to all the list holds over all its pages;
    what it says then."""
    chosen = [row.pk for row in rows]
    answer = client.post(
        reverse(f"admin:{model}_changelist", query=filters),
        {
            "action": action,
            "index": "0",
            "select_across": "0" if chosen else "1",
            "_selected_action": chosen or ["0"],  # the first page's boxes, whatever is in them
        },
    )
    assert answer.status_code == 302, answer.content.decode()
    *_, last = get_messages(answer.wsgi_request)
    return str(last)


def offered(client: Client, model: str) -> set[str]:
    """The actions a list offers."""
    form = client.get(reverse(f"admin:{model}_changelist")).context["action_form"]
    return set() if form is None else {name for name, _ in form.fields["action"].choices if name}


def record_enqueued(monkeypatch, *tasks: Any) -> list[tuple[str, dict[str, Any]]]:
    """Have these tasks noted, not run."""
    wakes: list[tuple[str, dict[str, Any]]] = []
    for task in tasks:
        name = task.name.rpartition(".")[2]
        monkeypatch.setattr(task, "delay", lambda name=name, **given: wakes.append((name, given)))
    return wakes
