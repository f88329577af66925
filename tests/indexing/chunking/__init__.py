import pytest

pytest.register_assert_rewrite("tests.indexing.chunking.soundness")
