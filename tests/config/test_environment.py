import pytest

from config.checks import check_names_of_variables
from config.environment import read_int, read_listen_address

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
