"""Which texts of an e-mail are its body, in all forms in which programs send them; and MBOX."""

import pytest

HEAD = "From: a@example.org\nSubject: Crane\nMIME-Version: 1.0\n"


def part(content, kind="text/plain; charset=utf-8", **headers):
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\n".join([f"Content-Type: {kind}", *lines, "", content])


def multipart(kind, *parts, boundary="b"):
    body = "".join(f"--{boundary}\n{each}\n" for each in parts)
    return f"Content-Type: multipart/{kind}; boundary={boundary}\n\n{body}--{boundary}--\n"


def read_body(parse, content):
    [page] = parse(HEAD + content, "a.eml").pages
    return page.text.partition("\n\n")[2]


class TestAlternatives:
    @pytest.mark.parametrize(
        ("plain", "html", "body"),
        [
            ("This message requires an HTML viewer.", "<p>Fee 95 euro", "Fee 95 euro"),
            ("See https://a.example/x?y=1", "<p>The fee of berth 7 is 95 euro", "The fee of berth"),
            ("", "<p>Fee 95 euro", "Fee 95 euro"),
            ("The fee is *95*.\nRegards", "<p>The fee is <b>95</b>.<p>Regards", "The fee is *"),
            ("The fee is 95 euro, due on Friday", "<p>Newsletter", "The fee is 95 euro"),
            ("The fee is 95 euro", "", "The fee is 95 euro"),
        ],
    )  # fmt: skip
    def test_are_read_in_the_form_that_says_more(self, parse, plain, html, body):
        content = multipart("alternative", part(plain), part(html, "text/html; charset=utf-8"))

        assert read_body(parse, content).startswith(body)

    def test_have_the_attachments_of_their_richest_form(self, parse):
        html = part("<p>The fee<img src='cid:p1'>", "text/html")
        pdf = part("%PDF-", "application/pdf; name=plan.pdf")
        picture = part("x", "image/png", Content_ID="<p1>")
        rich = multipart("mixed", html, pdf, picture, boundary="c")
        content = multipart("alternative", part("The fee"), rich)

        [page] = parse(HEAD + content, "a.eml").pages

        assert "Attachments: plan.pdf\n" in page.text
        assert page.text.endswith("\n\nThe fee")


class TestTextsInOrder:
    def test_are_all_that_are_shown(self, parse):
        content = multipart(
            "mixed",
            part("Before the plan."),
            part("%PDF-", "application/pdf; name=plan.pdf", Content_Disposition="inline"),
            part("After it.", Content_Disposition="inline"),
            part("<p>At the end.", "text/html"),
            part("not shown", "text/plain; name=notes.txt", Content_Disposition="attachment"),
        )

        [page] = parse(HEAD + content, "a.eml").pages

        assert page.text.endswith(
            "Attachments: plan.pdf, notes.txt\n\nBefore the plan.\n\nAfter it.\n\nAt the end."
        )

    def test_hold_what_is_hidden_apart(self, parse):
        [page] = parse(f"{HEAD}Content-Type: text/html\n\n<p>Fee<p hidden>no", "a.eml").pages

        assert page.text.endswith("\n\nFee")
        assert [each.text for each in page.unseen] == ["no"]


class TestFlowedText:
    def test_is_joined(self, parse):
        text = (
            "The gauge must be \ncalibrated.\n\n> Is it \n> right?\n>> No.\nYes. \n-- \nJan\n from"
        )
        content = part(text, "text/plain; format=flowed")

        assert read_body(parse, content) == (
            "The gauge must be calibrated.\n\n> Is it right?\n>> No.\nYes.\n--\nJan\nfrom"
        )

    def test_may_be_cut_in_words(self, parse):
        content = part("It must be recalib \nrated.", "text/plain; format=flowed; delsp=yes")

        assert read_body(parse, content) == "It must be recalibrated."

    def test_is_only_what_says_so(self, parse):
        text = "Berth 4  \nBerth 7  \n  indented"

        assert read_body(parse, part(text)) == text


class TestMbox:
    def test_has_a_page_for_each_message(self, parse):
        messages = [
            f"From a@example.org Tue Mar  3 09:15:00 2026\n{HEAD}\nFrom Monday on it is shut.\n"
            ">From here on.\n\n",
            "From b@example.org Tue Mar  3 10:15:00 2026\nSubject: Ferry\nFrom: b@example.org\n"
            + multipart("mixed", part("It docks."), part("x", "image/png; name=p.png")),
        ]

        document = parse("".join(messages), "a.mbox")

        assert [page.label for page in document.pages] == ["Crane", "Ferry"]
        assert document.pages[0].text.endswith("\n\nFrom Monday on it is shut.\nFrom here on.")
        assert "Attachments: p.png\n" in document.pages[1].text
        assert document.title == ""

    def test_is_recognised(self, refusal):
        assert refusal("Just a text.", "a.mbox") == "wrong_format"
