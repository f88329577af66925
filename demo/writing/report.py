"""The conservation report on the lens: a DOCX with headings and a table."""

from pathlib import Path
from typing import Any

import docx
from docx.enum.table import WD_TABLE_ALIGNMENT
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Cm, Pt, RGBColor

SEA = RGBColor.from_string("2D6073")

SECTIONS: list[tuple[str, list[str]]] = [
    (
        "Summary",
        [
            "The lens of Orrin Skerry was examined, dismantled, cleaned and put back between 4 "
            "April and 17 June 2016. It is in better condition than its age and place would "
            "suggest. Of its two hundred and sixteen prisms, five are cracked and one is missing "
            "a corner; none has been replaced since the lens was made. The chief danger was not "
            "to the glass but to the putty that holds it, a third of which had turned to powder.",
            "I recommend that the lens remain in the tower and in use. A lens that turns is looked "
            "after; a lens in a glass case is only admired.",
        ],
    ),
    (
        "The lens and its makers",
        [
            "It is a revolving lens of the second order with eight panels, made in 1870 by the "
            "workshop of Maurin and Daughters at Lyon and signed, unusually, by the polisher: a "
            "diamond-scratched É. Maurin on the inner face of the lowest prism of panel six, "
            "where only someone lying on the gallery floor would ever see it. The glass is "
            "faintly green. It contains enough iron to have been melted from the sand of a single "
            "river, and it throws a light that old pilots describe as cold.",
            "Assembled, the lens weighs 1,860 kilograms. It used to float on a bath of mercury, so "
            "finely balanced that a child could turn it with one hand. Seventy-four kilograms of "
            "mercury were drained in 1996 and replaced by a ring of sealed bearings; the lens has "
            "since needed a motor of forty watts, about as much as a reading lamp.",
        ],
    ),
    (
        "Method",
        [
            "Each panel was lowered by hand winch through the well of the stair, a journey of "
            "thirty-one metres that took between fifty and seventy minutes, and laid on felt in "
            "the old oil store. Glass was cleaned with distilled water and a little alcohol, "
            "using cotton and no pressure. Salt crystals under the brass were softened for a day "
            "with damp paper pulp before anything was moved.",
            "Powdered putty was removed with bone tools and replaced by a compound of linseed oil, "
            "whiting and red ochre mixed to the recipe in the first keeper’s notebook, except that "
            "the white lead he used was left out. The new putty can be told from the old by its "
            "colour under ultraviolet light, in which it does not glow.",
        ],
    ),
]

PANELS = [
    ("Panel", "Prisms", "Damage found", "Treatment", "Put back"),
    ("1", "27", "None", "Cleaned; putty renewed by half", "9 May"),
    ("2", "27", "One prism cracked across", "Crack filled with resin", "12 May"),
    ("3", "27", "Brass frame bent at the foot", "Frame warmed and straightened", "20 May"),
    ("4", "27", "None", "Cleaned only", "23 May"),
    ("5", "27", "Three prisms cracked; bullet mark", "Resin; the mark left as it is", "2 June"),
    ("6", "27", "None", "Cleaned; signature photographed", "6 June"),
    (
        "7",
        "27",
        "Corner missing from the top prism",
        "Edge smoothed, corner not replaced",
        "9 June",
    ),
    ("8", "27", "One prism cracked at the edge", "Crack stopped with a drilled hole", "13 June"),
]

CLOSING: list[tuple[str, list[str]]] = [
    (
        "The bullet mark",
        [
            "The shallow star on panel five has been explained in three ways in the station’s own "
            "papers. Microscopy settles the matter. There are traces of copper but none of lead, "
            "and the angle points down from the sky: it was made by a spent cartridge case falling "
            "from an aircraft, most likely during the exercises of August 1943. It does not weaken "
            "the prism, and I have left it as a witness.",
        ],
    ),
    (
        "Care from now on",
        [
            "Dust the lens on the first Monday of each month with a clean badger brush, from the "
            "top down. Wash it once a year, in April, never in frost and never in sunlight: the "
            "panels focus the sun, and on 29 June 1958 they set fire to a curtain and the "
            "keeper’s newspaper. Keep the blinds drawn by day. Look at the putty every fifth "
            "year; the next examination is due in 2021.",
            "The cost of the work was 38,400 crowns, of which the pilots’ guild gave half. The "
            "rest came in coins from visitors, and it took the treasurer a week to count them.",
        ],
    ),
]


def write(path: Path) -> None:
    document = docx.Document()
    properties = document.core_properties
    properties.title = "Conservation Report on the Lens of Orrin Skerry"
    properties.author = "Yun-seo Paik"
    _style(document)
    document.add_paragraph("Conservation Report on the Lens of Orrin Skerry", style="Title")
    document.add_paragraph(
        "Yun-seo Paik, conservator of glass and metals. Vennhaven, 30 June 2016.", style="Subtitle"
    )
    _add_sections(document, SECTIONS)
    document.add_heading("Condition and treatment, panel by panel", level=1)
    _add_table(document)
    _add_sections(document, CLOSING)
    document.save(str(path))


def _style(document: Any) -> None:
    section = document.sections[0]
    section.page_width, section.page_height = Cm(21), Cm(29.7)
    section.left_margin = section.right_margin = Cm(3)
    normal = document.styles["Normal"]
    normal.font.name, normal.font.size = "Georgia", Pt(11)
    normal.paragraph_format.line_spacing = 1.3
    normal.paragraph_format.space_after = Pt(8)
    for name, size in (("Title", 24), ("Subtitle", 12), ("Heading 1", 15)):
        style = document.styles[name]
        style.font.size, style.font.color.rgb = Pt(size), SEA
        fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
        for attribute in list(fonts.attrib):
            del fonts.attrib[attribute]  # otherwise the theme's font takes precedence
        fonts.set(qn("w:ascii"), "Georgia")
        fonts.set(qn("w:hAnsi"), "Georgia")
    document.styles["Heading 1"].paragraph_format.space_before = Pt(18)
    document.styles["Heading 1"].paragraph_format.space_after = Pt(6)


def _add_sections(document: Any, sections: list[tuple[str, list[str]]]) -> None:
    for heading, paragraphs in sections:
        document.add_heading(heading, level=1)
        for text in paragraphs:
            document.add_paragraph(text)


def _add_table(document: Any) -> None:
    table = document.add_table(rows=0, cols=len(PANELS[0]))
    table.style = "Light List Accent 1"
    table.alignment = WD_TABLE_ALIGNMENT.CENTER
    widths = [Cm(1.5), Cm(1.7), Cm(4.6), Cm(5.0), Cm(2.2)]
    for number, row in enumerate(PANELS):
        cells = table.add_row().cells
        for cell, text, width in zip(cells, row, widths, strict=True):
            cell.width = width
            cell.paragraphs[0].paragraph_format.space_after = Pt(3)
            run = cell.paragraphs[0].add_run(text)
            run.font.size = Pt(9.5)
            if number == 0:
                run.bold = True
                shading = OxmlElement("w:shd")
                shading.set(qn("w:val"), "clear")
                shading.set(qn("w:fill"), "2D6073")
                cell._tc.get_or_add_tcPr().append(shading)
