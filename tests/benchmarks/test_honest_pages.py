"""Test that the pages qualify figures that would be misleading alone."""

from benchmarks.page_figures import read
from benchmarks.papers.feature_focus import tables as feature_focus
from benchmarks.papers.feature_focus.claims import checks
from benchmarks.peers import tables as peers
from benchmarks.readme import category_paper, finna_100k, texts


def test_the_index_stands_beside_a_flat_svm_where_a_tree_is_worse():
    result = read("feature-focus-paper")
    [row] = [line for line in feature_focus.brief(result) if line.startswith("| wordnet")]
    assert "| SVM C=" in row
    assert "tree" not in row
    claim = "On the other data sets, the index is not worse in R1 than the best classifier"
    [check] = [check for check in checks(result) if check["claim"] == claim]
    assert check["sets"]["wordnet"][0] == "does not hold"


def test_fasttext_is_shown_with_the_best_that_it_reached():
    assert all("0.113" in "\n".join(part()) for part in (finna_100k, texts))
    assert "0.113 on the titles" in peers.page(read("peers"))


def test_what_holds_on_reuters_alone_is_not_said_of_all_sets():
    words = category_paper()[-1]
    assert "hold on Reuters-21578" in words
    assert "8 of 9 hold on rcv1-subsets, where Rocchio has the best Coverage" in words
    assert "8 of 9 hold on debian-tags, where Rocchio has the best Coverage" in words


def test_a_leader_that_did_not_finish_is_named_in_its_row():
    [row] = [line for line in peers.summary(read("peers")) if line.startswith("| yso-finna-fi,")]
    assert "pecos (omikuji-bonsai did not finish)" in row
    assert "20 minutes" in peers.LEGEND
