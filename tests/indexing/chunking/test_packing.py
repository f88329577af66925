from tests.indexing.chunking.fakes import cut, texts
from tests.indexing.chunking.soundness import assert_sound


class TestPackSentences:
    def test_packs_whole_sentences(self):
        text = " ".join(f"Sentence number {i} has a handful of words." for i in range(60))

        chunks = cut(text)

        assert_sound(text, chunks)
        assert all(chunk.text.startswith("Sentence") for chunk in chunks)
        assert all(chunk.text.endswith("words.") for chunk in chunks)
        assert all(400 < len(chunk.text) <= 500 for chunk in chunks[:-1])

    def test_balances_a_tiny_last_chunk(self):
        text = " ".join(["A sentence of just about sixty characters, more or less so."] * 9)

        before, last = cut(text)

        assert len(last.text) > 200
        assert len(before.text) <= 500

    def test_lets_short_paragraphs_share_a_chunk(self):
        text = "\n\n".join(["Short bullet of a slide"] * 20)

        assert len(cut(text)) == 2

    def test_keeps_a_heading_with_its_text(self):
        body = "A sentence that says something under a heading. " * 7
        text = "\n\n".join(f"# Heading {i}\n\n{body}" for i in range(6))

        chunks = cut(text)

        assert [chunk.text[:9] for chunk in chunks] == ["# Heading"] * 6

    def test_changes_only_chunks_of_the_edited_paragraph(self):
        paragraphs = [
            " ".join(f"Paragraph {i} says thing {j} at some length." for j in range(i % 5 + 8))
            for i in range(12)
        ]
        before = texts(cut("\n\n".join(paragraphs)))

        paragraphs[5] = "A new sentence came in first. " + paragraphs[5]
        after = texts(cut("\n\n".join(paragraphs)))

        gone = set(before) - set(after)
        assert gone
        assert all("Paragraph 5" in text for text in gone)
