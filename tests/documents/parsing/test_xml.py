"""XML as data, as a marked-up text, and as a feed."""

import pytest

FEED = (
    "<rss version='2.0' xmlns:content='c'><channel><title>Harbour</title>"
    "<item><title>A &lt; B</title><link>https://a.example/1</link>"
    "<description>&lt;p&gt;The crane is &lt;b&gt;closed&lt;/b&gt; &amp;amp; shut.&lt;/p&gt;"
    "&lt;p&gt;Until Friday.&lt;/p&gt;</description>"
    "<content:encoded><![CDATA[<ul><li>Berth 7</ul>]]></content:encoded></item></channel></rss>"
)


class TestData:
    def test_has_its_attributes(self, parse):
        content = (
            "<stock xmlns:x='y'><berth id='B-17' depth='3.2' x:owner='no' href='https://a.example'/>"
            "<fee currency='EUR'>95</fee><log hash='6ea11ae5'>Shut</log></stock>"
        )

        [page] = parse(content, "a.xml").pages

        assert page.text == "berth id: B-17, depth: 3.2\n95 (currency: EUR)\nShut"

    def test_of_a_marked_up_text_has_none(self, parse):
        content = "<doc><p id='p1'>The <ref n='2'>crane</ref> is shut.</p><p n='3'>A</p></doc>"

        assert parse(content, "a.xml").pages[0].text == "The crane is shut.\nA"


class TestFeeds:
    def test_have_html_as_text(self, parse):
        document = parse(FEED, "a.xml")

        assert document.pages[0].text.split("\n") == [
            "Harbour", "A < B", "https://a.example/1", "The crane is closed & shut.", "",
            "Until Friday.", "- Berth 7",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        ("content", "text"),
        [
            ("<summary type='html'>&lt;i&gt;Shut&lt;/i&gt;</summary>", "Shut"),
            ("<summary type='text'>Use &lt;i&gt;</summary>", "Use <i>"),
            ("<content type='xhtml'><div>Shut <b>now</b></div></content>", "Shut now"),
            ("<summary>5 &lt; 7</summary>", "5 < 7"),
        ],
    )
    def test_of_atom_say_what_they_hold(self, parse, content, text):
        feed = f"<feed xmlns='http://www.w3.org/2005/Atom'><entry>{content}</entry></feed>"

        assert parse(feed, "a.xml").pages[0].text == text

    def test_are_not_every_xml_with_tags_in_it(self, parse):
        content = "<help><description>Write &lt;b&gt;bold&lt;/b&gt;</description></help>"

        assert parse(content, "a.xml").pages[0].text == "Write <b>bold</b>"
