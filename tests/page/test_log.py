"""The history: who taught what, when and from where; undone, and exported."""

import csv
import io
import json

import pytest

from benchmarks.page import stage
from tests.page.conftest import Stage

pytestmark = [pytest.mark.browser, pytest.mark.data]
ROWS = 3000
TAUGHT = 60
WHO = "X-Remote-User"


@pytest.fixture(scope="module")
def stage_of_titles(data_folder, tmp_path_factory):
    """A small model, in which an undo takes little time; people are told apart by a header."""
    path = tmp_path_factory.mktemp("log")
    rows = stage.make_model(path / "finna", ROWS)
    with stage.Server(path / "finna", "--state", str(path / "home"), "--user-header", WHO, "--trust-proxy") as server:
        yield Stage(server.address, rows)


@pytest.fixture(scope="module")
def taught(browser, stage_of_titles):
    """Corrections of two people from two sources."""
    context = browser.new_context()
    for number, (text, labels) in enumerate(stage_of_titles.rows[:TAUGHT]):
        origin = {WHO: ("ann", "bob")[number % 2], "X-Abound-Source": ("page", "client")[number % 2]}
        body = {"text": text, "added": labels}
        assert context.request.post(f"{stage_of_titles.address}/v1/learn", data=body, headers=origin).ok
    context.close()
    return stage_of_titles.rows[:TAUGHT]


@pytest.fixture
def log(open_visit, taught):
    visit = open_visit(extra_http_headers={WHO: "zoe"}, accept_downloads=True)
    visit.open("history")
    visit.page.wait_for_selector(".log-entry")
    return visit


def entries(page):
    return [int(entry.get_attribute("data-sequence")) for entry in page.locator(".log-entry").all()]


def test_each_correction_says_who_when_and_from_where(log, taught):
    page = log.page
    listed = log.get("v1/records?kind=learn&limit=1&before=61")
    page.goto(f"{log.address}/#/history?kind=learn&text={taught[-1][0][:30]}")
    page.wait_for_function("() => document.querySelectorAll('.log-entry').length === 1")
    entry = page.locator(".log-entry")
    (record,) = listed["records"]
    assert entry.locator("time").get_attribute("datetime") == record["time"]
    assert entry.locator(".log-who").text_content() == record["who"] == "bob"
    assert "from Python client" in entry.text_content()
    assert entry.locator(".log-text").text_content() == taught[-1][0]
    names = [listed["names"][label] for label in record["added"]]
    assert entry.locator(".chip a").all_text_contents() == names


def test_pages_hold_every_entry_once(log):
    page, seen = log.page, []
    last = log.sequence
    while True:
        seen += entries(page)
        if page.get_by_role("button", name="Older").is_disabled():
            break
        first = entries(page)[0]
        page.get_by_role("button", name="Older").click()
        page.wait_for_function(
            "(first) => document.querySelector('.log-entry').dataset.sequence !== first", arg=str(first)
        )
    assert seen == list(range(last, 0, -1))
    page.keyboard.press("p")
    page.wait_for_function("(n) => document.querySelector('.log-entry').dataset.sequence === n", arg=str(seen[25]))


def test_filters_are_kept_in_the_address(log):
    page = log.page
    page.get_by_label("Who").fill("ann")
    page.get_by_label("From").select_option("page")
    page.wait_for_function("() => [...document.querySelectorAll('.log-who')].every((who) => who.textContent === 'ann')")
    assert entries(page) == [
        record["sequence"] for record in log.get("v1/records?who=ann&source=page&limit=25")["records"]
    ]
    address = page.evaluate("location.hash")
    page.reload()
    page.wait_for_selector(".log-entry")
    assert (page.evaluate("location.hash"), page.get_by_label("Who").input_value()) == (address, "ann")
    page.get_by_label("Until").fill("2001-01-01")
    page.get_by_text("No entry matches.").wait_for()
    page.get_by_role("button", name="Clear the filters").click()
    page.wait_for_selector(".log-entry")
    assert page.evaluate("location.hash") == "#/history"


def test_a_correction_is_undone_after_a_question_and_counts_again(log, taught):
    page = log.page
    record = log.get("v1/records?kind=learn&limit=1&who=ann")["records"][0]
    row = f"[data-sequence='{record['sequence']}']"
    before = log.get("v1/model")["rows"]
    page.locator(f"{row} button", has_text="Undo").click()
    log.press("Enter")  # on Cancel: nothing happens
    page.get_by_role("dialog").wait_for(state="detached")
    assert log.get("v1/model")["rows"] == before
    page.locator(f"{row} button", has_text="Undo").click()
    page.get_by_label("Reason").fill("a wrong click")
    page.get_by_role("dialog").get_by_role("button", name="Undo").click()
    page.locator(f"{row} .log-state", has_text="Undone").wait_for(timeout=120_000)
    assert log.get("v1/model")["rows"] == before - 1
    newest = log.get("v1/records?limit=1")["records"][0]
    assert (newest["kind"], newest["who"], newest["records"], newest["reason"]) == (
        "undo", "zoe", [record["sequence"]], "a wrong click",
    )  # fmt: skip
    page.locator(f"{row} button:focus", has_text="Count it again").wait_for()
    assert page.locator("#spoken").text_content() == f"Entry {record['sequence']}: undone."
    log.press("Enter")
    page.get_by_role("dialog").get_by_text("Reason: a wrong click").wait_for()
    page.get_by_role("dialog").get_by_role("button", name="Count it again").click()
    page.locator(f"{row} button", has_text="Undo").wait_for(timeout=120_000)
    assert log.get("v1/model")["rows"] == before


def test_what_is_filtered_is_exported(log):
    page = log.page
    page.get_by_label("Who").fill("bob")
    page.wait_for_function("() => [...document.querySelectorAll('.log-who')].every((who) => who.textContent === 'bob')")
    wanted = log.get("v1/records?who=bob&limit=1000")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export JSON lines").click()
    lines = [json.loads(line) for line in download.value.path().read_text(encoding="utf-8").splitlines()]
    assert [{**line, "names": None} for line in lines] == [{**record, "names": None} for record in wanted["records"]]
    assert lines[0]["names"] == {label: wanted["names"][label] for label in lines[0]["added"]}
    with page.expect_download() as download:
        page.get_by_role("button", name="Export CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))
    assert [int(row["entry"]) for row in rows] == [record["sequence"] for record in wanted["records"]]
    assert [row["text"] for row in rows] == [record["text"] for record in wanted["records"]]
    assert rows[0]["added"] == "; ".join(wanted["names"][label] for label in wanted["records"][0]["added"])
    assert download.value.suggested_filename == "history.csv"


def test_the_log_of_a_label_is_reached_from_its_page(log, taught):
    page = log.page
    label = taught[0][1][0]
    page.goto(f"{log.address}/#/label?name={label}")
    page.get_by_role("link", name="All corrections of this label").click()
    page.locator("h1", has_text="History").wait_for()
    page.wait_for_selector(".log-entry")
    assert entries(page) == [record["sequence"] for record in log.get(f"v1/records?label={label}&limit=25")["records"]]


def test_a_refused_undo_is_said_in_the_dialog(log):
    page = log.page
    problem = {"title": "no", "status": 403, "detail": "record 1 is not yours"}
    page.route("**/v1/undo", lambda route: route.fulfill(status=403, body=json.dumps(problem)))
    page.locator(".log-entry button", has_text="Undo").first.click()
    page.get_by_role("dialog").get_by_role("button", name="Undo").click()
    page.get_by_role("alert").filter(has_text="This key does not allow this action.").first.wait_for()
    assert page.get_by_role("dialog").is_visible()
    log.problems.clear()  # the browser tells of the status
