"""What PowerPoint shows: numbers, raised signs, diagrams, and nothing that is hidden."""

import io
import zipfile

import pptx
import pytest
from pptx.oxml import parse_xml
from pptx.util import Inches

A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
DGM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"


def make_slides(*fillers):
    """A presentation with a slide for each function, which fills it."""
    presentation = pptx.Presentation()
    for fill in fillers:
        fill(presentation.slides.add_slide(presentation.slide_layouts[5]))
    file = io.BytesIO()
    presentation.save(file)
    return file.getvalue()


def add_box(slide, *paragraphs):
    frame = slide.shapes.add_textbox(*[Inches(1)] * 4).text_frame
    body = frame._txBody
    for old in frame.paragraphs:
        body.remove(old._p)
    for paragraph in paragraphs:
        body.append(parse_xml(f"<a:p {A}>{paragraph}</a:p>"))


def test_numbers_of_lists_and_raised_letters_are_read(parse):
    numbered = '<a:pPr lvl="{}"><a:buAutoNum type="{}"/></a:pPr><a:r><a:t>{}</a:t></a:r>'.format
    run = "<a:r><a:rPr baseline='{}'/><a:t>{}</a:t></a:r>".format

    def fill(slide):
        slide.shapes.title.text = "Tides"
        add_box(
            slide,
            numbered(0, "arabicPeriod", "Rise"), numbered(1, "alphaLcParenBoth", "slowly"),
            numbered(1, "alphaLcParenBoth", "fast"), numbered(0, "arabicPeriod", "Fall"),
            "<a:r><a:t>10</a:t></a:r>" + run(30000, 6) + run(0, " CO") + run("-25000", 2),
        )  # fmt: skip

    [page] = parse(make_slides(fill), "a.pptx").pages

    assert page.text == "# Tides\n\n1. Rise\n(a) slowly\n(b) fast\n2. Fall\n10⁶ CO₂"


def test_hidden_slides_and_shapes_are_kept_apart(parse):
    def hide(slide):
        slide.shapes.title.text = "Secret"
        slide._element.set("show", "0")

    def hide_shape(slide):
        slide.shapes.title.text = "Open"
        add_box(slide, "<a:r><a:t>Take 60.</a:t></a:r>")
        slide.shapes[-1]._element.nvSpPr.cNvPr.set("hidden", "1")

    first, second = parse(make_slides(hide, hide_shape), "a.pptx").pages

    assert (first.label, first.text, first.unseen) == ("Slide 1", "", (("# Secret", "hidden"),))
    assert (second.label, second.text) == ("Slide 2: Open", "# Open")
    assert second.unseen == (("Take 60.", "hidden"),)


def test_diagrams_and_descriptions_are_read(parse):
    point = (
        '<dgm:pt modelId="{0}"><dgm:t><a:p><a:r><a:t>{1}</a:t></a:r></a:p></dgm:t></dgm:pt>'
    ).format
    data = (
        f'<dgm:dataModel xmlns:dgm="{DGM}" {A}><dgm:ptLst>{point(2, "Wait")}{point(1, "Call")}'
        '<dgm:pt modelId="0" type="doc"/></dgm:ptLst><dgm:cxnLst><dgm:cxn srcId="0" destId="1" '
        'srcOrd="0"/><dgm:cxn srcId="0" destId="2" srcOrd="1"/></dgm:cxnLst></dgm:dataModel>'
    )
    frame = (
        f'<p:graphicFrame xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" {A} '
        'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">'
        '<p:nvGraphicFramePr><p:cNvPr id="9" name="x" descr="How a pilot boards"/>'
        "<p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><a:graphic><a:graphicData>"
        f'<dgm:relIds xmlns:dgm="{DGM}" r:dm="rId99"/></a:graphicData></a:graphic></p:graphicFrame>'
    )
    link = (
        b'<Relationship Id="rId99" Target="../diagrams/data1.xml" Type="http://schemas.openxmlformats'
        b'.org/officeDocument/2006/relationships/diagramData"/></Relationships>'
    )
    slides = make_slides(lambda slide: slide.shapes._spTree.append(parse_xml(frame)))
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(slides)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("slide1.xml.rels"):
                content = content.replace(b"</Relationships>", link)
            new.writestr(name, content)
        new.writestr("ppt/diagrams/data1.xml", data)

    [page] = parse(file.getvalue(), "a.pptx").pages

    assert page.text == "- Call\n- Wait\n\n[Image] How a pilot boards"


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [
        ("ppsx", b"openxmlformats-officedocument.presentationml.slideshow"),
        ("potx", b"openxmlformats-officedocument.presentationml.template"),
        ("pptm", b"ms-powerpoint.presentation.macroEnabled"),
    ],
)
def test_shows_templates_and_files_with_macros_are_read(parse, suffix, kind):
    def fill(slide):
        slide.shapes.title.text = "Tides"

    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(make_slides(fill))) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            usual = b"openxmlformats-officedocument.presentationml.presentation"
            new.writestr(name, old.read(name).replace(usual + b".main", kind + b".main"))

    assert parse(file.getvalue(), f"a.{suffix}").pages[0].text == "# Tides"
