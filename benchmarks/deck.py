"""An invented screening deck of 300 slides, to test whether a search finds the one slide with the
exact names. All other slides are similar: the same enzymes, compounds whose numbers differ in one
digit, other laboratories.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SLIDE_COUNT = 300
ANSWER_SLIDE = 187  # counted from 0
QUERY = "NadD with compound SACC-111 by TAMU"

TARGETS = ["NadD", "NadE", "NadA", "CoaD", "InhA", "DprE1", "GyrB", "MurA", "LpxC", "FabI"]
LABORATORIES = ["TAMU", "UCSF", "ETH", "KIT", "NIAID", "Broad", "GSK", "Sanger"]
METHODS = [
    "co-crystal structure", "thermal shift assay", "dose response", "whole-cell screen",
    "docking run", "time-kill curve", "enzyme kinetics", "resistance selection",
]  # fmt: skip
FINDINGS = [
    "The ligand sits in the nucleotide pocket and displaces two waters.",
    "Potency fell tenfold in the presence of serum.",
    "No shift was seen below ten micromolar.",
    "The series is soluble and shows no toxicity to human cells.",
    "Two contacts are lost when the chlorine is removed.",
    "Turnover is slowed, and binding of the substrate is not.",
    "Single-step mutants map to the mouth of the pocket.",
    "The hit repeats in three of four plates.",
]


@dataclass(frozen=True, slots=True)
class Slide:
    title: str
    lines: list[str]


def generate_slides() -> Iterator[Slide]:
    """Generate the same slides each time. Only one slide names target, compound and laboratory."""
    chance = random.Random(111)
    for number in range(SLIDE_COUNT):
        target, laboratory = chance.choice(TARGETS), chance.choice(LABORATORIES)
        compound = f"SACC-{chance.randint(100, 199)}"
        method = chance.choice(METHODS)
        findings = chance.sample(FINDINGS, 2)
        if number == ANSWER_SLIDE:
            target, compound, laboratory = "NadD", "SACC-111", "TAMU"
        elif number % 10 == 3:  # almost the same as the answer
            target, laboratory = "NadD", "TAMU"
            compound = chance.choice(["SACC-112", "SACC-110", "SACC-101", "SACC-121"])
        elif compound == "SACC-111":
            compound = "SACC-113"
        yield Slide(
            title=f"{target}: {method}",
            lines=[f"{target} with compound {compound} ({laboratory}, {method})", *findings],
        )


def save_deck(path: Path) -> Path:
    from pptx import Presentation

    deck = Presentation()
    layout = deck.slide_layouts[1]  # title and content
    for slide in generate_slides():
        page = deck.slides.add_slide(layout)
        page.shapes.title.text = slide.title
        page.placeholders[1].text = "\n".join(slide.lines)
    deck.save(str(path))
    return path
