"""Process files for an index in stages. Each stage writes a file that people can read and edit:
``parsed.md`` and ``chunks.json``; ``manifest.json`` records how they were made.

    FileInspection.parse -> parsed.md -> .write_chunks -> chunks.json -> .add_to_index -> the index

The last stage adds the document to the index, with the files' content at that moment.
"""
