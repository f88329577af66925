"""A real nginx before the service, with the locations of the page *Serve it below a path*."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from tests.servers.production import missing
from tests.serving import ROOT, free_port

PATH = "/strata"
PAGE = ROOT / "docs" / "how-to" / "serve-below-a-path.md"
START_SECONDS = 20
# The path is removed by nginx, and named by the header.
STRIPPING = """
location /strata/ {
    proxy_pass http://strata/;
    proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-Prefix /strata;
}
"""


def read_documented_locations() -> str:
    return PAGE.read_text().partition("## nginx")[2].split("```")[1]


@contextmanager
def nginx(
    folder: Path, upstream: str, locations: str, path: str = PATH, scheme: str = "http"
) -> Iterator[str]:
    """Pass requests on to ``upstream``, a URL, until the block ends; yields the address of the
    path. ``scheme``: what nginx says the client used."""
    executable = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if executable is None:
        missing("nginx is not on the PATH.")
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    configuration = folder / "nginx.conf"
    configuration.write_text(
        "daemon off; master_process off;\n"
        f"pid {folder}/pid; error_log {folder}/error.log;\n"
        "events {}\n"
        "http {\n"
        f"access_log off; {temporary}"
        f"upstream strata {{ server {urlsplit(upstream).netloc}; keepalive 8; }}\n"
        f"server {{ listen 127.0.0.1:{port}; client_max_body_size 1g;\n"
        f"{locations.replace('$scheme', scheme)}}}\n}}\n"
    )
    process = subprocess.Popen(
        [executable, "-p", str(folder), "-c", str(configuration), "-e", str(folder / "error.log")],
        stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{port}{path}"
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                httpx.get(f"{url}/health/live", trust_env=False)
                break
            except httpx.TransportError:
                assert process.poll() is None, (folder / "error.log").read_text()
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
