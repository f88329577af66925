"""PowerPoint: one page for each slide, in order, with its speaker notes at the end."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pptx

from documents.parsing.archives import check_office_archive
from documents.parsing.blocks import Cell, fill_merged_cells, format_table, join_blocks
from documents.parsing.charts import read_chart
from documents.parsing.document import DocumentDraft


def read(path: Path, draft: DocumentDraft) -> None:
    check_office_archive(path, draft.limits)
    presentation = pptx.Presentation(str(path))
    draft.propose_title(presentation.core_properties.title)
    for number, slide in enumerate(presentation.slides, start=1):
        title_shape = slide.shapes.title
        title = " ".join(title_shape.text_frame.text.split()) if title_shape is not None else ""
        parts = [f"# {title}" if title else "", *_shape_texts(slide.shapes, title_shape)]
        if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
            parts.append(_clean_frame_text(frame.text))
        text = "\n\n".join(part for part in parts if part.strip())
        draft.add_page(text, f"Slide {number}: {title}" if title else f"Slide {number}")
        draft.propose_title(title)


def _shape_texts(shapes: Any, title_shape: Any) -> Iterator[str]:
    for shape in shapes:
        if title_shape is not None and shape.shape_id == title_shape.shape_id:
            continue
        if hasattr(shape, "shapes"):  # a group
            yield from _shape_texts(shape.shapes, title_shape)
        elif getattr(shape, "has_table", False) and shape.has_table:
            rows = (
                [
                    Cell(cell.text, cell.span_height, cell.span_width)
                    for cell in row.cells
                    if not cell.is_spanned
                ]
                for row in shape.table.rows
            )
            yield join_blocks(format_table(fill_merged_cells(rows)))
        elif getattr(shape, "has_chart", False) and shape.has_chart:
            yield read_chart(shape.chart_part.blob)
        elif shape.has_text_frame:
            yield _clean_frame_text(shape.text_frame.text)


def _clean_frame_text(text: str) -> str:
    return text.replace("\v", "\n").strip()  # python-pptx writes a soft line break as VT
