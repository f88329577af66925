import pytest


@pytest.fixture
def specs(settings, tmp_path, build):
    """Rewrite the spec of the plain index, as a person with an editor does."""
    folder = tmp_path / "specs"
    folder.mkdir()
    settings.STRATA_SPECS_DIR = folder

    def write(text: str) -> None:
        (folder / "plain.yaml").write_text(text)

    write("title: Plain\n")
    return write
