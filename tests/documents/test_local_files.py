import pytest

from documents.connectors.local_files import add_file, iter_files
from documents.models import Artifact


@pytest.mark.django_db
def test_symbolic_links_out_of_a_folder_are_refused(tmp_path, build):
    folder, elsewhere = tmp_path / "notes", tmp_path / "elsewhere"
    for each in (folder, elsewhere):
        each.mkdir()
        (each / "page.txt").write_text(f"A page of {each.name}.")
    (folder / "file.txt").symlink_to(elsewhere / "page.txt")
    (folder / "below").symlink_to(elsewhere)
    (folder / "gone.txt").symlink_to(elsewhere / "gone.txt")
    (folder / "same.txt").symlink_to(folder / "page.txt")

    results = [result for path in iter_files([folder]) for result in add_file("plain", path)]

    refused = [result for result in results if result.error is not None]
    assert [result.name.rpartition("/")[2] for result in refused] == [
        "below", "file.txt", "gone.txt",
    ]  # fmt: skip
    assert {result.error.detail for result in refused} == {
        "A symbolic link to a folder, or out of the link's own folder, is not followed."
    }
    assert Artifact.objects.get().file_name == "page.txt"
