"""A worker that freezes past its lease while others continue, and wakes in the middle of its
work."""

from functools import wraps
from itertools import product

import pytest

from indexing import embedding, services
from indexing.services import syncing
from indexing.spec import EmbeddingSpec
from indexing.stores import get_store
from tests.faults.counts import IS_LONG, note
from tests.faults.owner import Owner

pytestmark = pytest.mark.django_db(transaction=True)

# Where it freezes: the object, its call, and whether before or after it.
MOMENTS = {
    "before it embeds": (lambda: embedding.get_embedder(EmbeddingSpec()), "embed_documents", 0),
    "after it embedded": (lambda: embedding.get_embedder(EmbeddingSpec()), "embed_documents", 1),
    "before it writes points": (get_store, "upsert", 0),
    "after it wrote points": (get_store, "upsert", 1),
    "before it writes payloads": (get_store, "replace_payloads", 0),
    "after it wrote payloads": (get_store, "replace_payloads", 1),
    "before it syncs its rows": (lambda: syncing, "synced_values", 0),
    "before it removes points": (get_store, "delete", 0),
    "after it removed points": (get_store, "delete", 1),
}

# What other processes do meanwhile; afterwards they sync everything that is due.
MEANWHILE = {
    "nothing else happened": lambda owner: None,
    "its document was edited": lambda owner: owner.put("edited", "Thirdly, a heron."),
    "its document was put back": lambda owner: owner.put("edited", "At first, a tern."),
    "its document was renamed": lambda owner: owner.relabel("relabelled", title="Other"),
    "its document was deleted": lambda owner: owner.delete("edited"),
    "the deleted one came again": lambda owner: owner.put("deleted", "Once more, an owl."),
}


CASES = [
    case
    for number, case in enumerate(product(MOMENTS, MEANWHILE))
    if IS_LONG or (number + number // len(MEANWHILE)) % 3 == 0  # two of each moment
]


@pytest.fixture
def owner(inside):
    """One document was edited, one relabelled and one deleted; all changes are due."""
    owner = Owner(inside)
    owner.put("edited", "At first, a tern.")
    owner.put("relabelled", "Labelled, a lark.")
    owner.put("deleted", "Once more, an owl.")
    inside.sync()
    owner.put("edited", "Then, a grebe.")
    owner.relabel("relabelled", metadata={"seen": 2})
    inside.api.delete(f"artifacts/{owner.ids.pop('deleted')}/")
    del owner.texts["deleted"]
    while inside.messages.waiting:
        task, _ = inside.messages.waiting[0]
        if task.name.endswith("plan_build"):
            inside.messages.deliver()
        else:
            inside.messages.waiting.pop(0)
    return owner


class TestAFrozenWorker:
    @pytest.mark.parametrize(("moment", "meanwhile"), CASES)
    def test_does_not_overwrite_newer_nodes(
        self, owner, inside, build, monkeypatch, moment, meanwhile
    ):
        find, name, side = MOMENTS[moment]
        frozen = []

        def freeze():
            if frozen:
                return
            frozen.append(moment)
            inside.expire_leases()
            MEANWHILE[meanwhile](owner)
            inside.messages.deliver_all()
            while services.sync_nodes(build):
                pass

        function = getattr(find(), name)

        @wraps(function)
        def freezing(*args, **kwargs):
            if side == 0:
                freeze()
            returned = function(*args, **kwargs)
            if side == 1:
                freeze()
            return returned

        monkeypatch.setattr(find(), name, freezing)
        while services.sync_nodes(build):
            pass

        assert frozen
        note("frozen")
        for document, text in owner.texts.items():
            for hit in owner.find(document, text):
                assert hit["verdict"] == "stale" or hit["text"] in text
        owner.compare(inside.sync().as_json())
