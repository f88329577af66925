import os

import pytest

from config.checks import check_names_of_variables
from config.environment import (
    LOG_LEVELS,
    load_environment,
    read_base_path,
    read_choice,
    read_int,
    read_listen_address,
    read_networks,
    read_number,
    read_url,
)

NAME = "STRATA_MAX_UPLOAD_BYTES"


@pytest.mark.parametrize("text", ["200MB", "-1", "1.5", "²"])
def test_a_wrong_number_ends_the_start_with_one_sentence(monkeypatch, text):
    monkeypatch.setenv(NAME, text)

    with pytest.raises(SystemExit, match=f"{NAME} is '{text}', but must be a whole number .* 100"):
        read_int(NAME, 100)


@pytest.mark.parametrize(("text", "value"), [("", 100), (" 7 ", 7), ("0", 0)])
def test_an_empty_value_means_the_default(monkeypatch, text, value):
    monkeypatch.setenv(NAME, text)

    assert read_int(NAME, 100) == value


@pytest.mark.parametrize("text", ["sixty", "0", "-1", "nan", "61"])
def test_a_wrong_decimal_number_ends_the_start_with_one_sentence(monkeypatch, text):
    monkeypatch.setenv("STRATA_LLM_TIMEOUT_SECONDS", text)

    with pytest.raises(SystemExit, match=f"is '{text}', but must be a number above 0 and at most"):
        read_number("STRATA_LLM_TIMEOUT_SECONDS", 30, at_most=60)


@pytest.mark.parametrize(
    "text",
    [
        "models.example", "ftp://models.example", "http://", "http://a:b", "http://[",
        "http://models.example/" + 2_000 * "x",
    ],
)  # fmt: skip
def test_a_wrong_url_ends_the_start_with_one_sentence(monkeypatch, text):
    monkeypatch.setenv("STRATA_LLM_BASE_URL", text)

    with pytest.raises(SystemExit, match="STRATA_LLM_BASE_URL must be a URL, such as"):
        read_url("STRATA_LLM_BASE_URL")


@pytest.mark.parametrize("text", ["strata", "//a", "/a/../b", "/a b", "/ä", "https://a.example/b"])
def test_a_wrong_path_ends_the_start_with_one_sentence(monkeypatch, text):
    monkeypatch.setenv("STRATA_BASE_PATH", text)

    with pytest.raises(SystemExit, match=r"STRATA_BASE_PATH is .* but must be a path of ASCII"):
        read_base_path("STRATA_BASE_PATH")


@pytest.mark.parametrize(("text", "path"), [("", ""), ("/", ""), (" /a/b.c/ ", "/a/b.c")])
def test_a_path_has_no_slash_at_its_end(monkeypatch, text, path):
    monkeypatch.setenv("STRATA_BASE_PATH", text)

    assert read_base_path("STRATA_BASE_PATH") == path


def test_a_wrong_network_ends_the_start_with_one_sentence(monkeypatch):
    monkeypatch.setenv("STRATA_TRUSTED_PROXIES", "10.0.0.0/8, proxy.example")

    with pytest.raises(SystemExit, match=r"STRATA_TRUSTED_PROXIES: .proxy\.example. does not"):
        read_networks("STRATA_TRUSTED_PROXIES", "::1")


def test_a_wrong_log_level_ends_the_start_with_one_sentence(monkeypatch):
    monkeypatch.setenv("STRATA_LOG_LEVEL", "verbose")

    with pytest.raises(SystemExit, match="'verbose', but must be one of DEBUG, INFO"):
        read_choice("STRATA_LOG_LEVEL", "INFO", LOG_LEVELS)


def test_the_case_of_a_choice_does_not_matter(monkeypatch):
    monkeypatch.setenv("STRATA_LOG_LEVEL", "debug")
    monkeypatch.setenv("STRATA_LOG_FORMAT", "JSON")

    assert read_choice("STRATA_LOG_LEVEL", "INFO", LOG_LEVELS) == "DEBUG"
    assert read_choice("STRATA_LOG_FORMAT", "plain", ("plain", "json")) == "json"


class TestEnvironmentFile:
    @pytest.fixture(autouse=True)
    def env_file(self, monkeypatch, tmp_path):
        path = tmp_path / "settings.env"
        path.write_text("STRATA_LLM_MODEL=of-the-file\n# a comment\n")
        monkeypatch.setenv("STRATA_ENV_FILE", str(path))
        monkeypatch.setattr(os, "environ", dict(os.environ))
        return path

    def test_sets_the_variables_that_the_environment_lacks(self):
        load_environment()

        assert os.environ["STRATA_LLM_MODEL"] == "of-the-file"

    def test_does_not_replace_those_of_the_environment(self):
        os.environ["STRATA_LLM_MODEL"] = "of-the-shell"

        load_environment()

        assert os.environ["STRATA_LLM_MODEL"] == "of-the-shell"

    def test_may_be_missing(self, env_file):
        env_file.unlink()

        load_environment()


class TestListenAddress:
    @pytest.mark.parametrize("address", ["127.0.0.1:8000", "0.0.0.0:80", "[::1]:8000", "unix:/x"])
    def test_is_an_address_and_a_port(self, monkeypatch, address):
        monkeypatch.setenv("STRATA_LISTEN", address)

        assert read_listen_address("127.0.0.1:8000") == address

    @pytest.mark.parametrize("address", ["127.0.0.1:80a0", "localhost", "0.0.0.0:0", ":99999"])
    def test_ends_the_start_if_it_has_no_port(self, monkeypatch, address):
        monkeypatch.setenv("STRATA_LISTEN", address)

        with pytest.raises(SystemExit, match="must be an address and a port"):
            read_listen_address("127.0.0.1:8000")


class TestNames:
    def test_of_mistyped_variables_are_reported_with_the_nearest_setting(self, monkeypatch):
        monkeypatch.setenv("STRATA_MAX_UPLOAD_BYTE", "1")
        monkeypatch.setenv("STRATA_VOYAGE_KEY", "of a spec")

        [warning] = check_names_of_variables()

        assert warning.msg == "STRATA_MAX_UPLOAD_BYTE is the name of no setting, and has no effect."
        assert warning.hint == "Did you mean STRATA_MAX_UPLOAD_BYTES?"
