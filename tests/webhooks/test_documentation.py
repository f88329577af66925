"""The receiver that ``docs/how-to/receive-webhooks.md`` shows, run unchanged."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.conf import settings

from tests.webhooks.conftest import SECRET
from webhooks.models import Delivery
from webhooks.sending import post_deliveries

pytestmark = pytest.mark.django_db

GUIDE = Path(settings.BASE_DIR) / "docs" / "how-to" / "receive-webhooks.md"


@pytest.fixture
def shown():
    """The receiver of the guide on a free port: its address and its process."""
    [code] = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-c", code.replace("9000", str(port))],
        env={**os.environ, "STRATA_WEBHOOK_SECRET": SECRET},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            break
        except OSError:
            time.sleep(0.05)
    yield f"http://127.0.0.1:{port}/", process
    process.kill()
    process.communicate()


class TestReceiverOfTheGuide:
    def test_accepts_only_deliveries_signed_with_its_secret(self, shown):
        url, process = shown
        ready = Delivery.objects.create(url=url, event="artifact.ready", payload={"index": "plain"})
        stranger = "whsec_" + "b3RoZXJz" * 4

        refused, taken = [post_deliveries([ready], each)[0] for each in (stranger, SECRET)]

        assert (refused.status, taken.status) == (401, 204)
        assert process.stdout.readline() == "artifact.ready {'index': 'plain'}\n"
