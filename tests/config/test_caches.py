import pickle

import pytest

from config.caches import JSONSerializer


class TestJSONSerializer:
    @pytest.mark.parametrize("value", [True, 7, "grüße", {"node_ids": ["a"], "done_data": None}])
    def test_returns_what_was_stored(self, value):
        serializer = JSONSerializer()

        assert serializer.loads(serializer.dumps(value)) == value

    def test_runs_no_code_of_what_it_reads(self):
        with pytest.raises(ValueError):  # noqa: PT011 - of the decoder
            JSONSerializer().loads(pickle.dumps({"a": 1}))
