from tests.summaries.conftest import wide, writer  # noqa: F401
