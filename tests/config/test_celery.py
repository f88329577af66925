import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class TestTheBeatSchedule:
    def test_names_tasks_that_a_web_server_can_send(self):
        """A web server sends reconciliations that are requested over HTTP, but only workers run
        Celery's autodiscovery."""
        program = (
            "from config.asgi import application\n"
            "from config.celery import app\n"
            "sent = {entry['task'] for entry in app.conf.beat_schedule.values()}\n"
            "print(sorted(sent - app.tasks.keys()))"
        )

        answered = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, text=True, capture_output=True, check=True,
            env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings.test"},
        )  # fmt: skip

        assert answered.stdout == "[]\n"
