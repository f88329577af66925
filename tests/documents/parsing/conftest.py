from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from documents.exceptions import Unparsable
from documents.parsing import Limits, ParsedDocument, close_child_processes, parse_file

MIB = 2**20
LIMITS = Limits(
    seconds=60,
    memory_bytes=2048 * MIB,
    max_pages=10_000,
    max_expanded_bytes=100 * MIB,
    max_text_chars=50_000_000,
)

Parse = Callable[..., ParsedDocument]


@pytest.fixture(scope="session", autouse=True)
def _children_ended() -> Iterator[None]:
    yield
    close_child_processes()


@pytest.fixture
def parse(tmp_path: Path) -> Parse:
    """Parse bytes or text under a name."""

    def parse(
        content: bytes | str, file_name: str, encoding: str = "utf-8", limits: Limits = LIMITS
    ) -> ParsedDocument:
        path = tmp_path / "original"
        path.write_bytes(content.encode(encoding) if isinstance(content, str) else content)
        return parse_file(path, file_name=file_name, limits=limits)

    return parse


@pytest.fixture
def refusal(parse: Parse) -> Callable[..., str]:
    """The code with which a file is refused."""

    def refusal(*arguments: object, **options: object) -> str:
        with pytest.raises(Unparsable) as refused:
            parse(*arguments, **options)
        assert refused.value.detail.endswith(".")
        assert "Traceback" not in refused.value.detail
        return refused.value.code

    return refusal


@pytest.fixture
def limits() -> Callable[..., Limits]:
    """The usual limits with some changed."""

    def limits(**changes: float) -> Limits:
        return replace(LIMITS, **changes)  # type: ignore[arg-type]

    return limits
