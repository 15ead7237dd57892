"""The views of whoever is responsible: the table of all labels, and whether the model gets better."""

import json
import time

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.data]
ROWS = (
    """() => JSON.stringify([...document.querySelectorAll('.label-table th[scope=row] a')].map((x) => x.textContent))"""
)
PAGE = 50


@pytest.fixture(scope="module")
def corrected(browser, stage_of_titles):
    """Sixty corrections; if the first label was wrong, it is rejected."""
    context = browser.new_context()
    for count, (text, labels) in enumerate(stage_of_titles.rows[:60]):
        if count == 30:
            time.sleep(1.1)  # so that they are not all of the same second, however fast the machine is
        ranked = context.request.post(f"{stage_of_titles.address}/v1/rank", data={"text": text}).json()["labels"]
        rejected = [entry["label"] for entry in ranked[:1] if entry["label"] not in labels]
        body = {"text": text, "added": labels, "rejected": rejected}
        assert context.request.post(f"{stage_of_titles.address}/v1/learn", data=body).ok
    context.close()
    return stage_of_titles


def shows(visit, query):
    """Wait until the table has the labels that the server returns; return them."""
    found = visit.get(f"v1/labels?limit={PAGE}&{query}")
    names = [row.get("name", row["label"]) for row in found["labels"]]
    wanted = json.dumps(names, separators=(",", ":"), ensure_ascii=False)
    visit.page.wait_for_function(f"(wanted) => ({ROWS})() === wanted", arg=wanted)
    return found


@pytest.mark.usefixtures("corrected")
@pytest.mark.parametrize(
    ("header", "sort", "direction"),
    [
        ("Texts", "frequent", "descending"),
        ("Label", "name", "ascending"),
        ("Refused", "rejected", "descending"),
        ("Last correction", "recent", "descending"),
    ],
)
def test_all_labels_are_sorted_and_paged(visit, header, sort, direction):
    page = visit.page
    visit.open("labels")
    shows(visit, "sort=frequent")
    page.get_by_role("columnheader", name=header).get_by_role("button").click()
    found = shows(visit, f"sort={sort}")
    assert page.get_by_role("columnheader", name=header).get_attribute("aria-sort") == direction
    assert page.locator("[aria-sort]").count() == 1
    assert f"1 to 50 of {found['total']:,} labels" in page.locator("main").text_content()
    visit.press("n", "n")
    shows(visit, f"sort={sort}&offset={2 * PAGE}")
    page.reload()  # the address has the order and the page
    shows(visit, f"sort={sort}&offset={2 * PAGE}")
    page.get_by_role("button", name="Previous").click()
    shows(visit, f"sort={sort}&offset={PAGE}")


@pytest.mark.usefixtures("corrected")
def test_a_label_shows_how_often_it_is_refused_and_when_it_was_last_taught(visit):
    page = visit.page
    visit.open("labels?sort=rejected")
    row = shows(visit, "sort=rejected")["labels"][0]
    cells = page.locator(".label-table tbody tr").first.locator("td").all_text_contents()
    assert cells[:2] == [f"{row['count']:,}", f"{round(row['rejected'] * 100)}% of {row['offered']}"]
    page.get_by_label("Sort").select_option("recent")
    row = shows(visit, "sort=recent")["labels"][0]
    assert page.locator(".label-table tbody time").first.get_attribute("datetime") == row["changed"]


@pytest.mark.usefixtures("corrected")
def test_labels_are_searched_by_words_in_any_order(visit):
    page = visit.page
    visit.open("labels")
    shows(visit, "sort=frequent")
    page.keyboard.type("chan clim")
    found = shows(visit, "query=chan+clim")
    assert "climate changes" in [row["name"] for row in found["labels"]]
    page.keyboard.type(" zzz")
    page.get_by_text("No label has a name with words that begin like this.").wait_for()


@pytest.mark.usefixtures("corrected")
def test_the_table_returns_with_the_server(visit):
    page = visit.page
    page.route("**/v1/labels?**", lambda route: route.abort())
    visit.open("labels")
    page.get_by_text("The server does not answer. The page tries again.").wait_for()
    page.unroute("**/v1/labels?**")
    shows(visit, "sort=frequent")
    visit.problems.clear()


@pytest.mark.usefixtures("corrected")
def test_progress_has_a_verdict_dates_and_an_interval(visit):
    page = visit.page
    visit.open("progress")
    page.wait_for_selector(".chart .line")
    found = visit.get("v1/progress")
    assert page.locator(".verdict").text_content() == found["verdict"]["sentence"]
    months = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
    assert page.evaluate(f"() => /\\d ({months})/.test(document.querySelector('.chart .date').textContent)")
    # All corrections are of the same minute or so, but not of the same second: the axis tells them apart.
    dates = page.locator(".chart .date").all_text_contents()
    assert len(dates) == len(set(dates)) >= 2
    # The band has two ends for each point of the line, and the table has each point or a sample of them.
    paths = [page.locator(f".chart .{name}").get_attribute("d") for name in ("line", "interval")]
    steps = [path.count("M") + path.count("L") for path in paths]
    assert steps[1] == 2 * steps[0] == 2 * (len(found["points"]) - 10)
    page.get_by_text("As a table").click()
    last = page.locator(".figure-chart tbody tr").last
    point = found["points"][-1]
    assert last.locator("time").get_attribute("datetime") == point["time"]
    share, low, high = (f"{round(point[name] * 100)}%" for name in ("p1", "low", "high"))
    assert last.locator("td").all_text_contents()[1:] == [share, f"{low} to {high}"]


EMPTY = (
    ("progress", "There are no recent corrections."),
    ("history", "Nothing was taught yet."),
    ("labels", "There are no labels yet."),
)


def answer_nothing(page):
    """Answer requests for views as a server does that has learned nothing."""
    nothing = {"verdict": {"share": 0, "margin": 0, "direction": "unknown", "sentence": "", "corrections": 0}}
    none = {"points": [], "improving": [], "worsening": [], "workers": [], "measured": 0, "smoothed": 50, **nothing}
    page.route(
        "**/v1/progress",
        lambda route: route.fulfill(json={"sequence": 0, "last": 0, "rows": 0, "labels": 0, "learnt": 0, **none}),
    )
    page.route("**/v1/records?**", lambda route: route.fulfill(json={"sequence": 0, "records": [], "names": {}}))
    page.route("**/v1/labels?**", lambda route: route.fulfill(json={"sequence": 0, "labels": [], "total": 0}))


def test_without_corrections_each_view_says_what_will_be_there(open_visit):
    visit = open_visit()
    page = visit.page
    answer_nothing(page)
    for part, words in EMPTY:
        page.goto(f"{visit.address}/#/{part}")
        page.get_by_text(words).wait_for()
