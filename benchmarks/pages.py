"""Measure the processor time and the weight of each page, and the requests to the API that it makes
when it is opened, on an index of the embedded form.

``python -m benchmarks.pages`` reads the data folder that ``python -m benchmarks.filling`` filled.
Times are processor times of the whole process, so that other work on the machine does not count,
and times by the clock, which are shorter where the engine searches with all processors.
"""

import gzip
import os
import re
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from django.test import Client

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")

RUNS = 15
LIMIT_MS = 50.0
QUERY = "w17 w4711 w815"  # words of the filled documents
INDEX = "index=plain"
CONSOLE = Path(__file__).parents[1] / "console"
# What the script of each page requests. ``{artifact}`` and ``{page}`` are ids.
REQUESTS = {
    "": ["indexes/", "indexes/plain/facets", f"search/pages?{INDEX}&q={QUERY}&explain=false",
         f"judgements/?{INDEX}&query={QUERY}&limit=100"],
    "add/": ["indexes/?limit=100"],
    "documents/": ["indexes/?limit=100", "indexes/plain/",
                   "indexes/plain/artifacts/?ordering=-created_at&limit=50"],
    "documents/{artifact}/": ["artifacts/{artifact}/", "indexes/plain/",
                              "artifacts/{artifact}/changes/?limit=100",
                              "artifacts/{artifact}/pages/0/",
                              "pages/{page}/passages?kind=chunk&offset=0"],
    "indexes/": ["indexes/?limit=100"],
    f"indexes/?{INDEX}": ["indexes/plain/", "indexes/plain/builds/", "indexes/plain/spec/",
                          "indexes/plain/plan/", f"evaluations/?{INDEX}&limit=5"],
    "work/": ["work/"],
    "keys/": ["keys/", "indexes/?limit=100"],
    "settings/": ["people/?limit=100", "webhooks/?limit=50"],
    "concepts/": ["indexes/", "emergent?index=knowledge",
                  "indexes/knowledge/relationship-types/?limit=100"],
}  # fmt: skip


def measure_pages() -> None:
    from django.contrib.auth.models import User
    from django.test import Client

    from documents.models import Page
    from indexing.models import IndexBuild, Node

    build = IndexBuild.objects.live().get(index="plain")
    user, _ = User.objects.get_or_create(username="bench", is_superuser=True)
    client = Client(headers={"Host": "localhost"})
    client.force_login(user)
    page = Page.objects.select_related("artifact").earliest("pk")
    ids = {"artifact": page.artifact_id, "page": page.pk}
    count = Node.objects.filter(build=build).count()
    print(f"{count} nodes; processor time and clock in ms, median; KB")
    for address, paths in REQUESTS.items():
        weight = sum(
            len(gzip.compress(part)) for part in _read_parts(client, f"/{address}".format(**ids))
        )
        times = {
            path: _measure(client, path.format(**ids))
            for path in (f"/{address}", *(f"/api/v1/{each}" for each in paths))
        }
        totals = " ms, ".join(f"{sum(each):.0f}" for each in zip(*times.values(), strict=True))
        print(f"/{address}: {totals} ms, {weight / 1_000:.0f} KB")
        for path, (processor, clock) in times.items():
            excess = "  MORE THAN THE LIMIT" if min(processor, clock) > LIMIT_MS else ""
            print(f"  {processor:6.1f} {clock:6.1f} {path}{excess}")


def _read_parts(client: "Client", path: str) -> Iterator[bytes]:
    """A page, and all styles and scripts that it loads."""
    html = client.get(path).content
    yield html
    names = [f"/{name}" for name in re.findall(r'/static/([^"]+\.(?:css|js))"', html.decode())]
    for name in names:  # grows
        content = Path(f"{CONSOLE}{name}").read_bytes()
        yield content
        for imported in re.findall(r'from "(\.[^"]+)"', content.decode()):
            found = os.path.normpath(Path(name).parent / imported)
            if found not in names:
                names.append(found)


def _measure(client: "Client", path: str) -> tuple[float, float]:
    processor, clock = [], []
    for _ in range(RUNS):
        started = time.process_time(), time.perf_counter()
        response = client.get(path)
        processor.append(time.process_time() - started[0])
        clock.append(time.perf_counter() - started[1])
        assert response.status_code == 200, (path, response.status_code)
    return 1_000 * statistics.median(processor), 1_000 * statistics.median(clock)


def main() -> None:
    import django

    django.setup()
    from indexing.model_loading import waiting_for_models
    from indexing.stores import close_store

    with waiting_for_models():
        measure_pages()
    close_store()


if __name__ == "__main__":
    main()
