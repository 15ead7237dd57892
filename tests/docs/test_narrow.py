"""Test the marks of what a narrow screen must not break or shrink."""

import pytest

from docs_build import narrow


@pytest.mark.parametrize(
    ("page", "marked"),
    [
        ("<td>2026-11-16</td>", '<td class="figures date">2026-11-16</td>'),
        ('<td style="text-align: right;">0.9 (0.8 to 1.0)</td>',
         '<td style="text-align: right;" class="figures">0.9 (0.8 to 1.0)</td>'),
        ("<td>20 to some</td>", "<td>20 to some</td>"),
        ("<td>" + "1, " * 11 + "</td>", '<td class="text">' + "1, " * 11 + "</td>"),
        (f"<td>{'word ' * 22}</td>", f'<td class="text">{"word " * 22}</td>'),
        ("<td><em>four words in it</em></td>", "<td><em>four words in it</em></td>"),
        ("<td><em>four words and more of it</em></td>", '<td class="text"><em>four words and more of it</em></td>'),
        ("<td>.246 / .149</td>", '<td class="figures">.246 / .149</td>'),
        ("<td>0.9 [0.8, 1.0]</td>", '<td class="figures">0.9 [0.8, 1.0]</td>'),
        ("<th>few-passes</th>", '<th class="whole">few-passes</th>'),
        ("<td>few-passes</td>", '<td class="whole">few-passes</td>'),
        ("<td>20-news-groups-and-more</td>", "<td>20-news-groups-and-more</td>"),
        ("<td>with --qrels</td>", '<td>with <span class="whole">--qrels</span></td>'),
        ("<td><code>a_b</code>, <em><code>c</code></em></td>",
         '<td class="code"><code>a_b</code>, <em><code>c</code></em></td>'),
        ("<td>with <code>a_b</code></td>", "<td>with <code>a_b</code></td>"),
        ("<td></td>", "<td></td>"),
    ],
)  # fmt: skip
def test_cells_of_figures_code_and_long_texts_are_marked(page: str, marked: str) -> None:
    assert narrow.marked(page) == marked


@pytest.mark.parametrize(
    ("page", "marked"),
    [
        ("<code>--k 3 -j</code>", '<code><span class="whole">--k</span> 3 <span class="whole">-j</span></code>'),
        ("<code>a-b - 1</code>", "<code>a-b - 1</code>"),
        ("<pre><code>fit --k</code></pre>", "<pre><code>fit --k</code></pre>"),
        ("<pre><span></span><code>fit --k</code></pre>", "<pre><span></span><code>fit --k</code></pre>"),
    ],
)
def test_options_are_marked_in_inline_code_only(page: str, marked: str) -> None:
    assert narrow.marked(page) == marked


@pytest.mark.parametrize(
    ("page", "marked"),
    [
        ("<code>few_labels</code>", "<code>few_labels</code>"),
        ("<code>TextVectorizer.partial_fit -k</code>",
         '<code>TextVectorizer.<wbr class="narrow">partial_fit <span class="whole">-k</span></code>'),
        ("<code>tests/retrieval/__main__.py::test_it_reaches_the_optimum</code>",
         "<code>tests/<wbr>retrieval/__main__.py::<wbr>test_<wbr>it_<wbr>reaches_<wbr>the_<wbr>optimum</code>"),
        ("<code>Client(&quot;http://127.0.0.1:8131/models/subjects&quot;)</code>",
         "<code>Client(<wbr>&quot;http://127.0.0.1:8131/<wbr>models/<wbr>subjects&quot;)</code>"),
        ("<code>--second_opinion.timeout_in_seconds</code>",
         '<code><span class="whole">--second_opinion</span>.timeout_in_seconds</code>'),
        ("<td>tests/docs/test_plain_feature_focus.py</td>",
         "<td>tests/<wbr>docs/<wbr>test_<wbr>plain_<wbr>feature_<wbr>focus.py</td>"),
        ('<td><a href="../../reference/plots/index.html">plots</a></td>',
         '<td><a href="../../reference/plots/index.html">plots</a></td>'),
        ('<h2 id="x">abound.data.read_names<a href="#x">¶</a></h2>',
         '<h2 id="x">abound.<wbr>data.<wbr>read_<wbr>names<a href="#x">¶</a></h2>'),
        ("<h2>Use of e.g. two</h2>", "<h2>Use of e.g. two</h2>"),
    ],
)  # fmt: skip
def test_long_names_may_be_broken_between_their_words(page: str, marked: str) -> None:
    assert narrow.marked(page) == marked


def test_pictures_lead_to_themselves_except_those_without_a_file() -> None:
    assert narrow.marked('<img alt="x" src="../images/a.png" />') == (
        '<a href="../images/a.png"><img alt="x" src="../images/a.png" /></a>'
    )
    assert narrow.marked('<img src="../images/a.png#only-dark">') == (
        '<a href="../images/a.png"><img src="../images/a.png#only-dark"></a>'
    )
    other = '<img src="data:image/png;base64,images/a">'
    assert narrow.marked(other) == other


@pytest.mark.parametrize(
    ("picture", "wide"),
    [("idea-mmp.png", True), ("reliability-reuters-90.png", False), ("gone.png", False), ("page.webp", False),
     ("101-terminal.svg", True)],
)  # fmt: skip
def test_wide_pictures_are_marked(picture: str, wide: bool) -> None:
    assert ('class="wide"' in narrow.marked(f'<img alt="x" src="../images/{picture}" />')) == wide


def test_a_picture_alone_has_its_text_below_it() -> None:
    for tag in ("p", "td"):
        found = narrow.marked(f'<{tag}><img alt="Some words" src="../images/a.png" /></{tag}>')
        assert found.endswith(f'</a><span class="caption">Some words</span></{tag}>')
    for other in (
        '<p><img alt="x" src="images/a.png"> <img alt="y" src="images/b.png"></p>',
        '<p>A word <img alt="x" src="images/a.png"></p>',
        '<p><img alt="x" src="images/a.png"></p>\n<p><em>What it shows.</em></p>',
        '<p><img alt="" src="images/a.png"></p>',
    ):
        assert "caption" not in narrow.marked(other)
