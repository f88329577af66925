import pytest

from indexing import tasks
from tests.clients import client_with_key
from tests.factories import give, sync
from tests.guests.asking import BRIDGE, FIELDS, TIDE
from tests.written import make_build, write_all


@pytest.fixture(scope="module")
def filled(shared_store):
    build = make_build("minutes", metadata=FIELDS)
    tide = give(TIDE, index="minutes", title="Harbour",
                metadata={"year": 2019, "topics": ["boats", "tide"]})  # fmt: skip
    bridge = give(BRIDGE, index="minutes", title="Works", metadata={"year": 2021}, groups=["works"])
    sync(build, tide, bridge)
    digest = make_build("digest", chunks={"embed": False}, questions={"count": 2})
    write_all(digest, give(BRIDGE, index="digest", title="Works"))
    return tide


@pytest.fixture
def client(filled, db, monkeypatch):
    monkeypatch.setattr(tasks, "enqueue_reconciliation", lambda *names: None)
    return client_with_key()
