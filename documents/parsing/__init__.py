"""Parse files into pages of clean text.

Call ``parse_file``. Files may be hostile, so readers (functions that ``formats`` lists) run in
child processes under limits, never in the caller's process. Nothing here uses the database;
``documents.source_splitting`` cuts pages into sources.
"""

from documents.parsing import ocr
from documents.parsing.added_readers import describe_reader
from documents.parsing.document import (
    MAX_FILES,
    MAX_SEPARATORS_PER_LETTER,
    REASONS,
    Limits,
    ParsedDocument,
    ParsedPage,
    ParseWarning,
    is_nearly_all_separators,
    title_from_file_name,
)
from documents.parsing.formats import FORMATS, IMAGE_TYPES, add_missing_suffix
from documents.parsing.ocr import find_line_boxes
from documents.parsing.process_pool import (
    close_child_processes,
    count_readers,
    read_confinement,
)
from documents.parsing.single_pages import draw_page, find_boxes
from documents.parsing.whole_files import parse_file
