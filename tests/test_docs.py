"""Links between the pages of the docs, and the list of decisions."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
PAGES = subprocess.run(
    ["git", "ls-files", "*.md"],
    cwd=ROOT, capture_output=True, text=True, check=True,
).stdout.split()  # fmt: skip
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")


def list_anchors(page):
    """The anchors of headings, as GitHub makes them."""
    titles = re.findall(r"^#+ +(.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    path = ROOT / page
    code = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
    for target, anchor in LINK.findall(code.sub("", path.read_text("utf-8"))):
        other = (path.parent / target) if target else path
        assert other.exists(), target
        if anchor and other.suffix == ".md":
            assert anchor in list_anchors(other), f"{target}#{anchor}"


def test_each_decision_is_listed_once_with_its_title():
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"^- \[(.+)\]\((.+)\)$", (folder / "README.md").read_text("utf-8"), re.M)

    written = [
        (file.read_text("utf-8").splitlines()[0], file.name) for file in folder.glob("0*.md")
    ]
    assert sorted((f"# {title}", name) for title, name in listed) == sorted(written)


@pytest.mark.parametrize("name", ["bug", "feature"])
def test_the_forms_of_issues_can_be_read(name):
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml").read_text("utf-8"))

    assert {"name", "description", "body"} <= form.keys()
    asked = [each["attributes"] for each in form["body"] if each["type"] != "markdown"]
    assert all(each["label"] for each in asked)
