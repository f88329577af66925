import json

import pytest

from strata_client.bodies import MAX_REQUEST_BYTES, read_file, split_batch, split_texts


def texts_of(lines: bytes) -> list[str]:
    return [json.loads(line)["text"] for line in lines.splitlines()]


class TestSplitBatch:
    def test_keeps_every_document_in_order(self):
        texts = [f"{number}" * 1_000 for number in range(3_000)]

        parts = list(split_batch({"text": text} for text in texts))

        assert [text for _, lines in parts for text in texts_of(lines)] == texts
        assert [count for count, _ in parts] == [len(texts_of(lines)) for _, lines in parts]

    def test_respects_the_limits_of_a_request(self):
        parts = list(split_batch({"text": "a" * 2_000} for _ in range(3_000)))

        assert max(len(lines) for _, lines in parts) <= MAX_REQUEST_BYTES
        assert max(count for count, _ in split_batch({"text": "a"} for _ in range(3_000))) == 1_000

    def test_puts_a_document_above_the_limit_in_a_request_of_its_own(self):
        large = {"text": "a" * MAX_REQUEST_BYTES}

        assert [count for count, _ in split_batch([{"text": "a"}, large, {"text": "b"}])] == [1] * 3


class TestSplitTexts:
    def test_keeps_every_text_in_order_within_the_limits_of_a_request(self):
        texts = [*(f"{number}" for number in range(150)), *("a" * 9_000 for _ in range(30))]

        batches = list(split_texts(texts))

        assert [text for batch in batches for text in batch] == texts
        assert max(map(len, batches)) <= 100
        assert max(sum(map(len, batch)) for batch in batches) <= 100_000

    def test_yields_nothing_without_texts(self):
        assert list(split_texts([])) == []


class TestReadFile:
    def test_reads_a_path(self, tmp_path):
        (tmp_path / "tides.txt").write_bytes(b"Tides turn.")

        assert read_file(str(tmp_path / "tides.txt")) == ("tides.txt", b"Tides turn.")

    def test_raises_an_error_if_the_file_does_not_exist(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            read_file(tmp_path / "gone.txt")
