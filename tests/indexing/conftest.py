import pytest


@pytest.fixture
def specs(settings, tmp_path, build):
    """Writes the spec of the plain index anew, as an editor does."""
    folder = tmp_path / "specs"
    folder.mkdir()
    settings.STRATA_SPECS_DIR = folder

    def write(text: str) -> None:
        (folder / "plain.yaml").write_text(text)

    write("title: Plain\n")
    return write
