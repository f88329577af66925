import socket

import pytest
from django.core.management import call_command

from config import diagnostics
from config.management.commands import doctor
from documents.models import Artifact
from indexing.models import IndexBuild
from indexing.stores.qdrant import QdrantStore
from tests.factories import give, load_index
from tests.qdrant_loopback.calls import Engine
from tests.qdrant_loopback.server import Loopback

pytestmark = pytest.mark.django_db


class TestDoctor:
    def test_reports_what_blocks_an_index(self, build, capsys):
        problem = "The model acme could not be fetched. Connect this machine."
        IndexBuild.objects.filter(pk=build.pk).update(problem=problem)

        with pytest.raises(SystemExit):
            call_command("doctor", port=0)

        assert f"fail index     plain #1 is waiting: {problem}" in capsys.readouterr().out

    def test_names_an_index_in_a_language_that_its_model_does_not_read(self, build, capsys):
        for title in ("Brot", "Teig", "Ofen"):
            give(
                "Der Teig ruht eine Nacht, und dann wird das Brot in dem Ofen gebacken.",
                title=title,
            )
        give("The dough rests for a night, and then the bread is baked in the oven.", title="Bread")

        [found] = diagnostics._check_text_languages()

        assert found.is_ok
        assert "plain: 3 of 4 documents" in found.detail
        assert "multilingual" in found.fix

    def test_counts_documents_that_were_read_in_part(self, build):
        whole, part = give("Herons wait.", title="Whole"), give("Terns fly.", title="Part")
        Artifact.objects.filter(pk=part.pk).update(
            warnings=[{"code": "unreadable_text", "detail": "3 characters of page 1 …"}]
        )
        Artifact.objects.filter(pk=whole.pk).update(
            warnings=[{"code": "encoding_guessed", "detail": "The encoding is not declared."}]
        )

        [found] = diagnostics._check_partial_documents()

        assert (found.is_ok, found.detail) == (True, "plain: documents that were read in part: 1.")

    def test_says_of_which_indexes_scans_cannot_be_read(
        self, build, settings, monkeypatch, tmp_path
    ):
        monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
        assert list(diagnostics._check_ocr()) == []
        settings.STRATA_SPECS_DIR = tmp_path
        (tmp_path / "plain.yaml").write_text("ocr_languages: [ru, sr-Latn]\n")
        load_index("plain")

        [found] = diagnostics._check_ocr()

        assert found.is_ok
        assert found.detail.startswith("plain: ")
        assert found.detail.endswith("ru, sr-Latn.")
        assert "tesseract-ocr-rus tesseract-ocr-srp-latn" in found.fix

    def test_distinguishes_its_own_port_from_that_of_another_program(self, live_server):
        ours = doctor._check_port(live_server.thread.port)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            others = doctor._check_port(listener.getsockname()[1])

        assert (ours.is_ok, ours.detail) == (
            True,
            f"A Strata web server answers on port {live_server.thread.port}.",
        )
        assert (others.is_ok, others.fix) == (False, "Choose another port with PORT=.")

    def test_advises_to_encrypt_the_key_of_the_store(self, settings, monkeypatch):
        settings.STRATA_VECTOR_STORE = "qdrant"
        settings.QDRANT_URL, settings.QDRANT_API_KEY = "http://vectors:6333", "secret"
        monkeypatch.setattr(doctor, "get_store", lambda: SilentStore())

        plain = doctor._check_store()
        settings.QDRANT_URL = "https://vectors:6333"
        encrypted = doctor._check_store()

        assert (plain.is_ok, plain.fix) == (True, "Use https on a shared network.")
        assert (encrypted.is_ok, encrypted.fix) == (True, "")

    @pytest.mark.parametrize(("version", "is_named"), [("1.18.3", True), ("1.19.0-dev", False)])
    def test_names_a_server_that_counts_words_of_hidden_documents(
        self, settings, monkeypatch, version, is_named
    ):
        settings.STRATA_VECTOR_STORE = "qdrant"
        loopback = Loopback(0, Engine(version=version))
        store = QdrantStore.connect(f"http://127.0.0.1:{loopback.port}")
        monkeypatch.setattr(doctor, "get_store", lambda: store)

        found = doctor._check_store()
        loopback.down()

        assert found.is_ok
        assert ("depend on documents of other groups" in found.detail) == is_named
        assert (found.fix == "Use Qdrant 1.19 or later.") == is_named

    def test_names_the_missing_features_and_settings_of_a_language_model(self, settings):
        settings.STRATA_LLM_BASE_URL = settings.STRATA_LLM_MODEL = ""
        without = diagnostics._check_language_model()
        settings.STRATA_LLM_BASE_URL, settings.STRATA_LLM_MODEL = "http://llm/v1", "some-model"
        with_one = diagnostics._check_language_model()

        assert without.is_ok
        assert "physio: without questions" in without.detail
        assert "biomedical: summaries quote the text" in without.detail
        assert "knowledge: no concepts are found in documents" in without.detail
        assert "STRATA_LLM_BASE_URL and STRATA_LLM_MODEL" in without.fix
        assert (with_one.detail, with_one.fix) == ("some-model writes texts.", "")


class SilentStore:
    def counts_terms_in_corpus(self):
        return True

    def ping(self):
        pass
