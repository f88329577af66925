"""Read papers of the ACL Anthology from its own XML and YAML or from JSON Lines.

    papers.py   a paper, the plain text of its markup and LaTeX, and its conversion to an artifact
    reading.py  papers from the Anthology's XML and from JSON Lines, and the names of people
    files.py    find the Anthology's files at a path

Papers are streamed: only one paper and the table of names are in memory at a time.
"""

from presets.papers.anthology.files import Anthology, open_anthology
from presets.papers.anthology.papers import Paper
