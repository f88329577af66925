import pytest
from rest_framework.exceptions import ValidationError

from core.serializers import TitleField


class TestTitleField:
    def test_counts_what_is_sent_and_not_what_is_kept(self):
        with pytest.raises(ValidationError):
            TitleField(max_length=3).run_validation("ab\u00ad\u00ad")

    def test_leaves_out_what_is_not_seen(self):
        assert TitleField(max_length=4).run_validation(" ab\u00ad") == "ab"
