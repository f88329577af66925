import pytest
from lxml import etree

from presets.papers.anthology.papers import markup_to_text, to_plain_text


class TestClean:
    @pytest.mark.parametrize(
        ("given", "cleaned"),
        [
            ("  two\n  lines\t", "two lines"),
            ("ﬁnd the eﬀect", "find the effect"),
            ("a \\textit{very \\textbf{bold}} claim", "a very bold claim"),
            ("we reach $F_1$ of $\\alpha > 1$", "we reach F1 of α > 1"),
            ("na\\\"{i}ve caf\\'e", "naïve café"),
            ("Smith \\& Co. at 5\\%", "Smith & Co. at 5%"),
            ("AT&amp;T and R&#38;D", "AT&T and R&D"),
        ],
    )
    def test_keeps_the_text_and_drops_the_markup(self, given, cleaned):
        assert to_plain_text(given) == cleaned

    @pytest.mark.parametrize(
        "text",
        [
            "10% better, then 20% worse",  # in LaTeX a percent sign starts a comment
            "it costs $5 to $10 a day",
            "from $5,000 to $10,000",
            "a ~ b, a & b, a_b and {a, b}",
            "C:\\1 and a lone \\",
        ],
    )
    def test_keeps_text_that_only_resembles_latex(self, text):
        assert to_plain_text(text) == text

    @pytest.mark.parametrize("text", ["\\textit{open", "$\\frac{1$", "\\", "{" * 2_000])
    def test_terminates_with_invalid_latex(self, text):
        assert isinstance(to_plain_text(text), str)


class TestReadMarkup:
    def test_reads_formulas_and_skips_comments_and_tags(self):
        element = etree.fromstring(
            "<abstract>A <b>bold <i>and</i></b> <tex-math>\\alpha</tex-math><!-- no --> end"
            "</abstract>"
        )

        assert markup_to_text(element) == "A bold and α end"

    def test_keeps_a_percent_sign_in_a_formula_and_the_text_after_it(self):
        element = etree.fromstring("<abstract><tex-math>3-25% + x</tex-math></abstract>")

        assert markup_to_text(element).replace(" ", "") == "3-25%+x"
