import pytest

from config.environment import read_int

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
