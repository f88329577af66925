import pytest

from language_models.exceptions import InvalidPrompt
from language_models.prompts import read_prompt_template


def test_an_unknown_prompt_is_answered_with_the_known_ones():
    with pytest.raises(InvalidPrompt, match="There is no prompt 'sonnet' in") as caught:
        read_prompt_template("sonnet")

    assert caught.value.code == "invalid_prompt"
    assert "page_summary" in (caught.value.allowed or [])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Summarise {{ text }}.", "must have exactly one line"),
        ("Summarise.\n=== user ===\n{% for %}", "is not a valid template"),
    ],
)
def test_a_faulty_prompt_is_refused(settings, tmp_path, text, fault):
    settings.STRATA_PROMPTS_DIR = tmp_path
    (tmp_path / "haiku.txt").write_text(text)

    with pytest.raises(InvalidPrompt, match=f"The prompt 'haiku' {fault}"):
        read_prompt_template("haiku")
