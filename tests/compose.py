"""docker-compose.yml as Compose reads it."""

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from tests.serving import ROOT

BIN = Path(sys.executable).parent
SECRETS = {
    "SECRET_KEY": "long-enough-to-be-taken-for-a-random-one-0123456789-abcdefghij",
    "ALLOWED_HOSTS": "strata.example",
    "POSTGRES_PASSWORD": "the-database",
    "REDIS_PASSWORD": "the-messages",
    "QDRANT_API_KEY": "the-vectors",
    "FLOWER_BASIC_AUTH": "operator:password",
}


def compose(*arguments: str, **given: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [BIN / "docker-compose", "--env-file", os.devnull, *arguments], cwd=ROOT,
        env={"PATH": os.environ["PATH"], **given}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@cache
def read_services() -> dict[str, dict[str, Any]]:
    """All services, by name."""
    ran = compose("config", "--format", "json", **SECRETS)
    assert ran.returncode == 0, ran.stderr
    found: dict[str, dict[str, Any]] = json.loads(ran.stdout)["services"]
    return found


def read_our_services() -> dict[str, dict[str, Any]]:
    """The services that run Strata's image."""
    return {name: service for name, service in read_services().items() if "build" in service}
