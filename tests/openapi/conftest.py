"""A service with data for every operation of the API."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.test import override_settings

from access.grants import EVERYTHING
from access.models import ApiKey, GroupRights
from audit.models import Subject
from concepts.emergent_pairs import update_emergent_pairs
from concepts.models import EmergentPair
from concepts.quotes import add_quote
from concepts.services import create_concept, create_relationship_type, relate_concepts
from curation.changes import Change
from curation.edits import begin_edit
from curation.selecting import Selection
from documents.models import Artifact
from documents.originals import save_incoming_file
from documents.reading import parse_artifact
from documents.services import TextContent, add_artifact
from evaluation.judged_queries import JudgedQueries
from evaluation.runs import claim_run, create_run, measure_run
from evaluation.services import save_judgement
from evidence.services import EvidenceInput, add_evidence
from feeds import tasks as feed_tasks
from feeds.models import Feed, FeedEntry
from indexing import embedding, lifecycle, tasks
from indexing.embedding import get_embedder
from indexing.models import IndexBuild, Node
from indexing.services import load_specs
from spaces import rdkit_model
from summaries.models import Annotation
from tests.asking_mcp import answer_in_this_thread
from tests.clients import client_with_key
from tests.clip import DIMENSION
from tests.factories import PARAGRAPHS, give, sync
from tests.hashing import HashingEmbedder
from tests.openapi.document import Document
from tests.pictures import draw
from tests.retrieval.test_tools import FIELDS, TOOLS
from tests.spaces.images.conftest import pair, use_small_models  # noqa: F401
from tests.written import ALL_KINDS, make_build, write_all
from webhooks import tasks as webhook_tasks
from webhooks.models import Delivery

SHORTER = "title: Plain\nchunks: {strategies: [{name: sentence, max_chars: 60}]}\n"
SMILES = "CC(=O)Oc1ccccc1C(=O)O"
# These labels share seven of eight words, so that the concepts are similar but not the same.
NEAR_LABELS = [f"alpha beta gamma delta epsilon zeta eta {last}" for last in ("theta", "iota")]


@pytest.fixture(scope="session")
def document() -> Document:
    return Document()


@pytest.fixture
def client(db):
    return client_with_key()


@pytest.fixture
def models(embedder, pair, monkeypatch) -> None:  # noqa: F811
    replace_models(pair, monkeypatch)


def replace_models(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    """Embed structures by hashing, pictures with a small pair of models, and texts as before."""
    use_small_models(pair, monkeypatch)
    embed_texts = embedding.get_embedder

    def choose(spec: Any) -> Any:
        if spec.provider == "clip":
            return get_embedder(spec)
        return HashingEmbedder(spec) if spec.provider == "rdkit" else embed_texts(spec)

    monkeypatch.setattr(embedding, "get_embedder", choose)
    monkeypatch.setattr(rdkit_model, "parse_smiles", lambda smiles: None)


@pytest.fixture
def filled(db, store, models, monkeypatch, tmp_path) -> Iterator[SimpleNamespace]:
    with filled_service(tmp_path, monkeypatch) as ids:
        yield ids


@contextmanager
def rolled_back() -> Iterator[None]:
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@contextmanager
def filled_service(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The ids of stored objects, by the names of the API's path parameters and similar names."""
    monkeypatch.setattr(tasks, "enqueue_reconciliation", lambda *names: None)
    monkeypatch.setattr(tasks.reconcile_indexes, "delay", lambda: None)
    monkeypatch.setattr(webhook_tasks.send_due_deliveries, "delay", lambda: None)
    monkeypatch.setattr(feed_tasks.work_on_feed, "delay", lambda **given: None)
    answer_in_this_thread(monkeypatch)
    specs = folder / "specs"
    specs.mkdir()
    for name in ("evidence", "knowledge", "plain"):
        shutil.copy(settings.BASE_DIR / "specs" / f"{name}.yaml", specs)
    with override_settings(
        STRATA_MIN_REVISION_SECONDS=0.0,
        STRATA_GOLDEN_DIR=folder / "golden",
        STRATA_SPECS_DIR=specs,
    ):
        load_specs()
        ids = SimpleNamespace()
        _fill_plain(ids)
        _fill_written(ids)
        _fill_spaces()
        fill_knowledge(ids)
        _fill_evidence()
        ids.key_id = ApiKey.issue("reader", indexes=["plain"])[0].pk
        ids.person_id, ids.manager_id = _make_people()
        secret = Fernet.generate_key().decode()
        ids.delivery_id = Delivery.objects.create(
            url="https://one.example/hook?token=1", event="artifact.ready", payload={}
        ).pk
        ids.subject = Subject.objects.create(kind="key", number=ids.key_id, secret=secret).pk
        _fill_source()
        (folder / "notes").mkdir()
        source = f"{{type: folder, path: {folder / 'notes'}}}"
        (specs / "plain.yaml").write_text(f"{SHORTER}sources: {{notes: {source}}}\n")
        ids.number = lifecycle.apply_spec("plain").number
        yield ids


def _fill_source() -> None:
    """A source whose removals wait for a person."""
    feed = Feed.objects.create(index="plain", name="notes", waiting_removals=1)
    FeedEntry.objects.create(
        feed=feed, key="a.txt", key_hash="a", path="a.txt", sha256="a", state="missing",
        last_error="It is gone.", error_code="entry_gone",
    )  # fmt: skip


def _fill_plain(ids: SimpleNamespace) -> None:
    build = IndexBuild.objects.live().get(index="plain")
    texts = [
        give(text, title=f"Note {number}", external_id=f"d{number}", metadata={"year": 2019})
        for number, text in enumerate(PARAGRAPHS)
    ]
    file, _ = add_artifact("plain", save_incoming_file("notes.txt", [b"The lamp is lit."]))
    parse_artifact(file.pk)
    broken, _ = add_artifact("plain", save_incoming_file("broken.pdf", [b"%PDF-1.7 torn"]))
    parse_artifact(broken.pk)
    sync(build, *texts, file)
    ids.artifact_id, ids.file_id = texts[0].pk, file.pk
    ids.source_id = texts[0].sources.get().pk
    ids.node_id = Node.objects.filter(build=build).first().point_id
    judged = JudgedQueries({"q1": "heron waits for fish"}, {"q1": {"d0": 1}})
    run = create_run("plain", judged=judged, systems=["hybrid"], baseline="sparse")
    claimed = claim_run(run.pk)
    assert claimed is not None
    measure_run(claimed)
    ids.run_id = run.pk
    judgement, _ = save_judgement(
        "plain", "heron", is_good=True, judged_by="tests", artifact_id=ids.artifact_id
    )
    ids.judgement_id = judgement.pk
    ids.edit_id = begin_edit(
        "plain",
        Selection([ids.artifact_id]),
        Change(fields={"year": 2019}),
        EVERYTHING,
        asked_by="",
    )[0].pk


def _fill_written(ids: SimpleNamespace) -> None:
    """Summaries and questions, with chunks and without."""
    build = make_build("full", metadata=FIELDS, tools=TOOLS, **ALL_KINDS)
    notes, _ = add_artifact("full", TextContent(tuple(PARAGRAPHS)), title="Notes")
    write_all(build, notes, fields={"conditions": ["sore back"]})
    ids.summarised_id, ids.page_id = notes.pk, notes.pages.first().pk
    ids.chunk_id = Annotation.objects.filter(artifact=notes).first().chunk_id
    asked = make_build("asked", questions={"count": 3}, chunks={"embed": False})
    write_all(asked, give(index="asked"))


def _make_people() -> list[int]:
    """A person, and the only one who may manage access."""
    keepers = Group.objects.create(name="keepers")
    GroupRights.objects.create(group=keepers, scope="manage")
    Group.objects.create(name="editors")
    people = [User.objects.create_user(name, password="a heron") for name in ("ada", "bob")]
    people[1].groups.add(keepers)
    return _pks(*people)


def _fill_spaces() -> None:
    gallery = make_build("gallery", images={"dimension": DIMENSION})
    poppy, _ = add_artifact(
        "gallery", save_incoming_file("poppy.png", [draw("red")]), title="Poppy"
    )
    parse_artifact(poppy.pk)
    diary = give("The barn door is red.", index="gallery", title="Diary")
    sync(gallery, poppy, diary)
    pharmacy = make_build("pharmacy", compounds=True, metadata={"smiles": {"type": "keyword"}})
    aspirin = give("It is kept dry.", index="pharmacy", metadata={"smiles": SMILES})
    sync(pharmacy, aspirin)


def fill_knowledge(ids: SimpleNamespace) -> None:
    build = IndexBuild.objects.live().get(index="knowledge")
    passage = give("The heron stands in the shallows. It eats fish.", index="knowledge")
    heron, fish = (create_concept("knowledge", label) for label in ("Heron", "Fish"))
    near = [create_concept("knowledge", label) for label in NEAR_LABELS]
    bridge = give(" ".join({*NEAR_LABELS[0].split(), *NEAR_LABELS[1].split()}), index="knowledge")
    eats = create_relationship_type("knowledge", "EATS", category="ecology")
    edge, _ = relate_concepts("knowledge", heron.pk, eats.pk, fish.pk)
    instance, _ = add_quote(heron.pk, "the heron", artifact_id=passage.pk)
    sync(build, passage, bridge, *Artifact.objects.filter(pk__in=_pks(heron, fish, eats, *near)))
    while update_emergent_pairs(build):
        pass
    ids.concept_id, ids.other_concept_id, ids.near_concept_id = heron.pk, fish.pk, near[0].pk
    ids.heron_source_id = passage.sources.get().pk
    ids.type_id, ids.relationship_id, ids.instance_id = eats.pk, edge.pk, instance.pk
    ids.pair_id = EmergentPair.objects.get().pk


def _fill_evidence() -> None:
    found = [EvidenceInput(f"https://{n}.example/", text) for n, text in enumerate(PARAGRAPHS)]
    add_evidence("evidence", found)
    sync(
        IndexBuild.objects.live().get(index="evidence"), *Artifact.objects.filter(index="evidence")
    )


def _pks(*rows: Any) -> list[Any]:
    return [row.pk for row in rows]
