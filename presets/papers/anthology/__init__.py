"""Read papers of the ACL Anthology from its own XML and YAML or from JSON Lines.

    papers.py       the ``Paper`` dataclass and its conversion to an artifact
    plain_text.py   convert markup and LaTeX to plain text
    people.py       the names each person has published under
    xml_volumes.py  papers from the Anthology's XML
    json_lines.py   papers from JSON Lines
    compressed.py   open files that may be gzipped
    files.py        find the Anthology's files at a path

Papers are streamed: only one paper and the table of names are in memory at a time.
"""

from presets.papers.anthology.files import Anthology, open_anthology
from presets.papers.anthology.papers import Paper
