"""A small invented Anthology in the real layout."""

from pathlib import Path

import pytest

NEW_STYLE = """<?xml version='1.0' encoding='UTF-8'?>
<collection id="2031.owl">
  <volume id="main" type="proceedings">
    <meta>
      <booktitle>Proceedings of the Owl Conference</booktitle>
      <editor><first>Ed</first><last>Itor</last></editor>
      <year>2031</year>
      <venue>owl</venue>
      <venue>findings</venue>
    </meta>
    <frontmatter><url>2031.owl-main.0</url></frontmatter>
    <paper id="1">
      <title>Parsing <fixed-case>E</fixed-case>nglish in <tex-math>O(n^2)</tex-math></title>
      <author><first>Ada</first><last>Lind</last></author>
      <author id="bo-ek-owl"><first>Bo</first><last>Ek</last><affiliation>Owl</affiliation></author>
      <abstract>We parse <b>faster</b>, by 10% or more, \\textit{as shown}.\n      It costs $5 to
      $10 a day; see <url>https://owl.example/parser</url>. <!-- for the camera --></abstract>
      <url hash="1a2b3c4d">2031.owl-main.1</url>
      <award>Best Paper</award>
      <award>Best  Paper</award>
      <doi>10.99999/2031.owl-main.1</doi>
    </paper>
    <paper id="2">
      <title>Nothing is said of this one</title>
      <author><first/><last>Mono</last></author>
      <abstract>  </abstract>
    </paper>
    <paper id="3">
      <title>A ﬁnding, withdrawn</title>
      <author><first>Ada</first><last>Lind-Berg</last></author>
      <retracted date="2032-01-01">An error.</retracted>
      <abstract>The ﬁrst 2½ hours.</abstract>
    </paper>
  </volume>
  <event id="owl-2031">
    <meta><title>The Owl Conference</title></meta>
    <colocated><volume-id>2031.lark-1</volume-id></colocated>
  </event>
</collection>
"""
OLD_STYLE = """<?xml version='1.0' encoding='UTF-8'?>
<collection id="W19">
  <volume id="59">
    <meta><booktitle>Workshop</booktitle><year>2019</year><venue>lark</venue></meta>
    <paper id="7">
      <title>Larks</title>
      <author><first>Cy</first><last>Ro</last></author>
      <abstract>Larks sing early.</abstract>
    </paper>
  </volume>
</collection>
"""
NAME_VARIANTS = """
- canonical: {first: Ada, last: Lind}
  variants:
  - {first: Ada, last: Lind-Berg}
  - {first: A., last: Lind}
- canonical: {first: Bo A., last: Ek}
  id: bo-ek-owl
- canonical: {first: Cy, last: Ro}
- canonical: {first: Cyril, last: Ro}
  variants:
  - {first: Cy, last: Ro}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three papers of one collection, one of another, and the table of names."""
    folder = tmp_path / "anthology"
    (folder / "xml").mkdir(parents=True)
    (folder / "yaml").mkdir()
    (folder / "xml" / "2031.owl.xml").write_text(NEW_STYLE)
    (folder / "xml" / "W19.xml").write_text(OLD_STYLE)
    (folder / "yaml" / "name_variants.yaml").write_text(NAME_VARIANTS)
    return folder
