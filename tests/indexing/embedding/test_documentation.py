"""The specs in docs/how-to/choose-an-embedding-model.md are accepted as shown."""

import re
from pathlib import Path
from typing import Final

import pytest
from django.conf import settings

from indexing.spec import parse_spec

GUIDE: Final = Path(settings.BASE_DIR, "docs", "how-to", "choose-an-embedding-model.md")
SPECS: Final = re.findall(
    r"^```yaml\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL
)
[MULTILINGUAL] = [spec for spec in SPECS if "model: multilingual-e5-small" in spec]


@pytest.mark.parametrize("text", SPECS)
def test_shows_valid_specs(text):
    assert parse_spec("shown", text).model_fields_set & {"embedding", "sparse"}
