"""What each reader of another host's answer makes of a hostile one: an error of its own, soon."""

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from django.test import RequestFactory
from pydantic import BaseModel

from access.exceptions import SignInRefused
from answers.cross_encoders import RerankEndpoint
from core.exceptions import StrataError
from documents import fetching
from documents.exceptions import AddressUnavailable, ReaderUnavailable, Unparsable
from documents.parsing import docling_serve
from indexing.embedding import openai_model
from indexing.exceptions import EmbeddingUnavailable, ModelUnavailable
from indexing.spec import EmbeddingSpec
from language_models.exceptions import LanguageModelUnavailable
from language_models.llm import LanguageModel
from presets.papers.anthology import downloading
from sign_in import openid
from tests.hostile import HostileHost, hostile_host

SECONDS = 0.3  # of a request; the host takes 2


class Word(BaseModel):
    word: str


def fetch(url: str, folder: Path) -> None:
    fetching.fetch_file(f"{url}/herons.md")


def embed(url: str, folder: Path) -> None:
    endpoint = {"base_url": url, "tokenizer": "characters", "batch_texts": 1}
    spec = EmbeddingSpec(provider="openai", model="m", dimension=3, endpoint=endpoint)
    openai_model.load_openai(spec).embed_queries(["herons"])


def rerank(url: str, folder: Path) -> None:
    model = RerankEndpoint("m", url, api_key_variable="", texts_field="texts", seconds=SECONDS)
    model.score("herons", ["They wait."])


def complete(url: str, folder: Path) -> None:
    LanguageModel("m", f"{url}/v1").complete("Answer.", "Herons", Word)


def convert(url: str, folder: Path) -> None:
    (folder / "a.pdf").write_bytes(b"%PDF-1.7")
    docling_serve.convert(folder / "a.pdf", ".pdf", folder / "answer")


def sign_in(url: str, folder: Path) -> None:
    request = RequestFactory().get("/sign-in/openid/")
    openid.redirect_to_provider(request, "http://localhost/sign-in/openid/return/")


def download(url: str, folder: Path) -> None:
    downloading.download_anthology(folder)


READERS: dict[Callable[[str, Path], None], tuple[type[Exception], ...]] = {
    fetch: (AddressUnavailable,),
    embed: (EmbeddingUnavailable,),
    rerank: (ModelUnavailable,),
    complete: (LanguageModelUnavailable,),
    convert: (ReaderUnavailable, Unparsable),
    sign_in: (SignInRefused,),
    download: (AddressUnavailable,),
}


@pytest.fixture
def host(settings, monkeypatch):
    with hostile_host() as host:
        settings.STRATA_FETCH_HOSTS = [host.url.removeprefix("http://")]
        settings.STRATA_MAX_UPLOAD_BYTES = 10_000
        settings.STRATA_OIDC_ISSUER = settings.STRATA_DOCLING_SERVE_URL = host.url
        settings.STRATA_OIDC_CLIENT_ID = settings.STRATA_OIDC_CLIENT_SECRET = "strata"
        settings.STRATA_ANTHOLOGY_URL = f"{host.url}/papers.jsonl"
        settings.STRATA_LLM_RETRIES = 0
        settings.STRATA_LLM_TIMEOUT_SECONDS = SECONDS
        monkeypatch.setattr(fetching, "TIMEOUT_SECONDS", SECONDS)
        monkeypatch.setattr(downloading, "DOWNLOAD_SECONDS", SECONDS)
        monkeypatch.setattr(downloading, "MAX_BYTES", 10**6)
        monkeypatch.setattr(openai_model, "QUERY_TIMEOUT", httpx.Timeout(SECONDS))
        monkeypatch.setattr(openid, "TIMEOUT_SECONDS", SECONDS)
        monkeypatch.setattr(docling_serve, "TRANSFER_SECONDS", SECONDS)
        yield host


def read(reader: Callable[[str, Path], None], host: HostileHost, folder: Path) -> Exception:
    with pytest.raises((StrataError, SignInRefused)) as refused:
        reader(host.url, folder)
    return refused.value


@pytest.mark.parametrize("reader", READERS)
class TestEveryReader:
    def test_accepts_no_encoding_and_refuses_one(self, host, tmp_path, reader):
        host.attack = "bomb"

        error = read(reader, host, tmp_path)

        assert set(host.encodings) == {"identity"}
        assert isinstance(error, READERS[reader]) or error.code == "invalid"

    @pytest.mark.parametrize("attack", ["slow header", "slow body"])
    def test_ends_in_time(self, host, tmp_path, reader, attack):
        host.attack = attack

        assert isinstance(read(reader, host, tmp_path), READERS[reader])
        assert not host.has_ended.is_set()

    def test_ends_a_long_answer(self, host, tmp_path, reader):
        host.attack = "long"

        error = read(reader, host, tmp_path)

        assert isinstance(error, READERS[reader]) or error.code == "too_large"

    def test_refuses_deep_json(self, host, tmp_path, reader, settings):
        settings.STRATA_MAX_UPLOAD_BYTES = 10**6
        host.attack = "nested"

        if reader in {fetch, download}:
            reader(host.url, tmp_path)  # a file like any other
        else:
            assert isinstance(read(reader, host, tmp_path), READERS[reader])
