import json

import pytest

from strata_client.bodies import MAX_REQUEST_BYTES, read_file, split_batch


def texts_of(lines: bytes) -> list[str]:
    return [json.loads(line)["text"] for line in lines.splitlines()]


class TestSplitBatch:
    def test_keeps_every_document_in_order(self):
        texts = [f"{number}" * 1_000 for number in range(3_000)]

        parts = list(split_batch({"text": text} for text in texts))

        assert [text for _, lines in parts for text in texts_of(lines)] == texts
        assert [count for count, _ in parts] == [len(texts_of(lines)) for _, lines in parts]

    def test_keeps_to_its_bounds(self):
        parts = list(split_batch({"text": "a" * 2_000} for _ in range(3_000)))

        assert max(len(lines) for _, lines in parts) <= MAX_REQUEST_BYTES
        assert max(count for count, _ in split_batch({"text": "a"} for _ in range(3_000))) == 1_000

    def test_lets_what_is_larger_go_alone(self):
        large = {"text": "a" * MAX_REQUEST_BYTES}

        assert [count for count, _ in split_batch([{"text": "a"}, large, {"text": "b"}])] == [1] * 3


class TestReadFile:
    def test_reads_a_path(self, tmp_path):
        (tmp_path / "tides.txt").write_bytes(b"Tides turn.")

        assert read_file(str(tmp_path / "tides.txt")) == ("tides.txt", b"Tides turn.")

    def test_says_that_there_is_none(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            read_file(tmp_path / "gone.txt")
