"""What RTF shows: numbers, raised signs, notes, tables, other alphabets, and nothing hidden."""

import pytest


def text_of(parse, body):
    [page] = parse(b"{\\rtf1\\ansi\\ansicpg1252 " + body + b"}", "a.rtf").pages
    return page.text


def test_numbers_of_lists_are_those_in_the_file(parse):
    body = (
        rb"{\listtext\tab 1.1\tab}\ls1\ilvl1 Ships\par {\listtext (a)\tab}\ilvl1 rafts\par "
        rb"\pard{\pntext\f1\'B7\tab}Boats\par \pard 2. Typed\par "
    )

    assert text_of(parse, body) == "1.1 Ships\n    (a) rafts\n- Boats\n\n2. Typed"


def test_headings_come_from_styles(parse):
    body = rb"{\stylesheet{\s3\outlinelevel0 heading 1;}}\pard\s3 Fees\par\pard They rise.\par"

    assert text_of(parse, body) == "# Fees\n\nThey rise."


def test_raised_and_lowered_letters_stay_apart(parse):
    assert (
        text_of(parse, rb"10{\super -6} m{\up6 3} of CO{\sub 2}{\nosupersub .}")
        == "10⁻⁶ m³ of CO₂."
    )


def test_unseen_text_is_kept_apart(parse):
    document = parse(rb"{\rtf1 Fee 95.{\v Take 60.\v0  Paid.}{\deleted Was 120.}}", "a.rtf")

    [page] = document.pages
    assert page.text == "Fee 95. Paid."
    assert page.unseen == (("Take 60.", "hidden"), ("Was 120.", "deleted"))


def test_notes_stand_below_with_their_mark(parse):
    body = rb"It was 451{\super\chftn{\footnote\chftn  Without tax.}} euro.\par Next.\par"

    assert text_of(parse, body) == "It was 451¹ euro.\n\n[Note 1] Without tax.\n\nNext."


def test_tables_keep_rows_and_merged_cells(parse):
    body = (
        rb"\trowd\cellx1\cellx2\pard\intbl Year\cell Cost\cell\row"
        rb"\trowd\clvmgf\cellx1\cellx2\intbl 2025\cell 1\par 2\cell\row"
        rb"\trowd\clvmrg\cellx1\cellx2\intbl\cell 3\cell\row"
        rb"\trowd\clmgf\cellx1\clmrg\cellx2\intbl Total\cell\cell\row\pard End\par"
    )

    assert text_of(parse, body) == (
        "| Year | Cost |\n| --- | --- |\n| 2025 | 1 2 |\n| 2025 | 3 |\n| Total |  |\n\nEnd"
    )


def test_letters_of_other_alphabets_are_read(parse):
    fonts = rb"{\fonttbl{\f0\fcharset204 A;}{\f1\fcharset128 B;}{\f2 C;}}"
    body = rb"\f0\'d4\'ee\'ed\'e4 \f1\'93\'8c\'8b\'9e \f2\uc1\u-10179 ?\u-8704 ?\uc0\u8364 x"

    assert text_of(parse, fonts + body) == "Фонд 東京 😀€x"


def test_boxes_of_forms_are_shown(parse):
    box = (
        rb"{\field{\*\fldinst FORMCHECKBOX{\*\formfield{\fftype1\ffres25{\*\ffname A}"
        rb"\ffdefres%d}}}{\fldrslt }}"
    )

    assert text_of(parse, b"Insured: " + box % 1 + b" Dogs: " + box % 0) == (
        "Insured: [x] Dogs: [ ]"
    )


def test_margins_are_read_once_without_page_numbers(parse):
    body = (
        rb"{\header Case 7\tab Page {\field{\*\fldinst PAGE}{\fldrslt 1}}\par}"
        rb"{\footerl Case 7\par}{\footerr Ven\par}Text.\par"
    )

    assert text_of(parse, body) == "Case 7\n\nText.\n\nCase 7\n\nVen"


def test_pictures_and_settings_are_left_out(parse):
    body = (
        rb"{\*\generator X;}{\info{\title Terns}}{\*\shppict{\pict\pngblip 89504e}}"
        rb"{\pict\bin4 {}{}}{\shp{\*\shpinst{\sp{\sn a}{\sv b}}{\shptxt In a box\par}}}Seen."
    )

    document = parse(b"{\\rtf1 " + body + b"}", "a.rtf")

    assert document.title == "Terns"
    assert document.pages[0].text == "Seen.\n\nIn a box"


@pytest.mark.parametrize(
    "body", [b"{" * 100_000, b"}" * 10, b"\\", rb"\'zz \u99999999", rb"\bin-5 a"]
)
def test_damaged_files_do_no_harm(refusal, body, parse):
    content = b"{\\rtf1 Terns. " + body
    if body[:1] == b"{":
        assert refusal(content, "a.rtf") == "too_deep"
    else:
        assert "Terns." in parse(content, "a.rtf").pages[0].text
