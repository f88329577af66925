"""Writes the binary files of the demo's library: ``python -m demo.make_library [FOLDER]``.

The files are committed, so that the demo does not need the libraries used here; each run writes the
same bytes. The library's HTML and Markdown are written by hand. All six describe one invented
station. Some facts occur in one place only: a slide's notes, a table cell or a page.
"""

import datetime
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

from demo.writing import history, report, talk, workbook

LIBRARY = Path(__file__).parent / "library"
WRITERS: dict[str, Callable[[Path], None]] = {
    "a-light-on-orrin-skerry.pdf": history.write,
    "reading-the-tide.pptx": talk.write,
    "lens-conservation-report.docx": report.write,
    "gauge-and-weather.xlsx": workbook.write,
}

_WRITTEN_AT = datetime.datetime(2020, 5, 1, 9)
_TIMES = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*(<)")


def write_library(folder: Path) -> None:
    """Write every file into ``folder``, overwriting existing files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in WRITERS.items():
        write(folder / name)
        if zipfile.is_zipfile(folder / name):
            _fix_times(folder / name)


def _fix_times(path: Path) -> None:
    """Set fixed times in an Office file, an archive that stores when it was made."""
    with zipfile.ZipFile(path) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    written_at = f"{_WRITTEN_AT.isoformat()}Z".encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name, date_time=_WRITTEN_AT.timetuple()[:6])
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            if name == "docProps/core.xml":
                content = _TIMES.sub(rb"\g<1>" + written_at + rb"\g<2>", content)
            archive.writestr(info, content)


if __name__ == "__main__":
    write_library(Path(sys.argv[1]) if len(sys.argv) > 1 else LIBRARY)
