"""Several people on one queue of the server: every text is decided once, and a second opinion is compared."""

import csv
import io
import json

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.data]


def make(visit, name, texts, **about):
    visit.post("v1/queues", {"name": name, "texts": [{"text": text} for text in texts], **about})


def queue_of(visit, name):
    return next(queue for queue in visit.get("v1/queues")["queues"] if queue["name"] == name)


def join(visit, name):
    visit.page.goto(f"{visit.address}/#/queue?name={name}")
    visit.page.locator(".file-name", has_text=name).wait_for()
    return visit


def shows(visit):
    """Wait until a text or the end is shown, with its labels; return the text, or None at the end."""
    page = visit.page
    page.wait_for_function(
        "() => (!document.querySelector('.bench')?.hidden && document.getElementById('text')?.value"
        " && document.querySelector('.pick') && !document.querySelector('.is-blocked'))"
        " || document.querySelector('.end h2')?.checkVisibility()"
    )
    return None if page.locator(".end").is_visible() else page.locator("#text").input_value()


def decide_together(open_visit, stage_of_titles, n_texts):
    """Let two browsers work on one queue at the same time, and check that every text was decided once."""
    name = f"books-{n_texts}"
    one, two = open_visit(), open_visit()
    one.open()
    two.open()
    texts = [text for text in dict(stage_of_titles.rows[300:700]) if one.rank(text)][:n_texts]
    assert len(texts) == n_texts
    make(one, name, texts)
    before = one.sequence
    for visit in (one, two):
        join(visit, name)
    decided = {0: [], 1: []}
    for _ in range(n_texts + 1):
        now = [shows(visit) for visit in (one, two)]
        if now == [None, None]:
            break
        for i, (visit, text) in enumerate(zip((one, two), now, strict=True)):
            if text is not None:
                decided[i].append(text)
                visit.press("1", "Enter")  # without waiting for the other one
        for visit, text in zip((one, two), now, strict=True):
            visit.page.wait_for_function(
                "(text) => document.getElementById('text').value !== text"
                " || document.querySelector('.end h2')?.checkVisibility()",
                arg=text,
            )
    assert len(decided[0]) > 0
    assert len(decided[1]) > 0
    assert sorted(decided[0] + decided[1]) == sorted(texts)
    assert one.sequence == before + n_texts
    records = one.get(f"v1/records?limit={n_texts}")["records"]
    assert sorted(record["text"] for record in records) == sorted(texts)


def test_two_browsers_decide_every_text_once(open_visit, stage_of_titles):
    decide_together(open_visit, stage_of_titles, 20)


@pytest.mark.slow
def test_two_browsers_decide_every_text_of_a_hundred_once(open_visit, stage_of_titles):
    decide_together(open_visit, stage_of_titles, 100)


def test_a_file_is_shared_with_guidelines(open_visit):
    one, two = open_visit(), open_visit()
    one.open("queue")
    page = one.page
    table = "id;title;year\n" + "".join(f"b{i};Gardens of the north {i};{1990 + i}\n" for i in range(3))
    page.locator("#file").set_input_files({"name": "essays.csv", "mimeType": "", "buffer": table.encode()})
    page.get_by_text("1 of 3", exact=True).wait_for()
    page.get_by_role("button", name="Share").click()
    page.get_by_label("Guidelines").fill("At most three subjects.\nNo places.")
    page.get_by_role("button", name="Share 3 texts").click()
    page.locator(".guidelines", has_text="No places.").wait_for()
    assert shows(one) == "Gardens of the north 0"
    two.open("queue")
    two.page.get_by_role("link", name="Join essays").click()
    assert shows(two) == "Gardens of the north 1"
    assert "1991" in two.page.locator(".columns").inner_text()
    assert two.page.locator(".guidelines").is_visible()
    page.reload()  # the same text is still leased to this tab
    assert shows(one) == "Gardens of the north 0"
    one.press("s")
    two.press("z")
    assert shows(one) == "Gardens of the north 2"
    one.press("1", "Enter")
    assert shows(one) is None
    page.get_by_text("2 of 3 texts decided").wait_for()  # one was skipped
    with page.expect_download() as download:
        page.get_by_role("button", name="Export CSV").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8-sig"))))
    assert [row["id"] for row in rows] == ["b0", "b1", "b2"]


def test_long_columns_go_along_and_the_page_names_those_that_do_not(visit):
    visit.open("queue")
    page = visit.page
    table = f"id;title;note;scan\nb1;Gardens of the south;{'word ' * 1800}end;{'s' * 9000}\nb2;Roses;short;short\n"
    page.locator("#file").set_input_files({"name": "long.csv", "mimeType": "", "buffer": table.encode()})
    page.get_by_text("1 of 2", exact=True).wait_for()
    columns = page.get_by_role("button", name="Columns")
    columns.click()
    for name in ("title", "note", "scan"):
        page.get_by_role("dialog").get_by_label(name).set_checked(name == "title")
    page.get_by_role("button", name="Use them").click()
    page.get_by_role("button", name="Share").click()
    page.get_by_text("may have 10,000 characters together. Left out: scan of 1 text.").wait_for()
    page.get_by_role("button", name="Share 2 texts").click()
    page.wait_for_url("**/#/queue?name=long")
    page.get_by_text("0 of 2 texts decided").wait_for()
    assert shows(visit) == "Gardens of the south"
    assert "word end" in page.locator(".columns").inner_text()
    first, second = visit.get("v1/queue?name=long")["items"]
    assert json.loads(first["source"]) == {"note": "word " * 1800 + "end"}
    assert json.loads(second["source"]) == {"note": "short", "scan": "short"}


def test_texts_of_a_shared_queue_are_filtered_and_searched(visit):
    make(visit, "searched", [f"Wooden boats {word}" for word in ("red", "green", "blue")])
    join(visit, "searched")
    page = visit.page
    assert shows(visit) == "Wooden boats red"
    visit.press("1", "Enter")
    assert shows(visit) == "Wooden boats green"
    visit.press("v")
    page.wait_for_function("() => document.querySelectorAll('.text-row').length === 3")
    page.get_by_label("Show texts").select_option("done")
    page.wait_for_function("() => document.querySelectorAll('.text-row').length === 1")
    page.get_by_label("Show texts").select_option("")
    page.get_by_label("Search texts").fill("blue")
    page.locator(".text-row", has_text="Wooden boats blue").wait_for()
    page.wait_for_function("() => document.querySelectorAll('.text-row').length === 1")
    page.locator(".text-row").click()
    page.wait_for_function("() => document.getElementById('text').value === 'Wooden boats blue'")
    page.get_by_label("Search texts").fill("red")
    page.locator(".text-row", has_text="Wooden boats red").click()  # it is decided, and stays so
    page.locator("#notice", has_text="is already decided").wait_for()
    assert page.locator("#text").input_value() == "Wooden boats blue"
    visit.problems[:] = [found for found in visit.problems if "409" not in found]


def test_a_queue_is_removed_after_a_question(visit):
    page = visit.page
    make(visit, "old texts", ["Wooden boats"])
    visit.open("queue")
    page.get_by_role("button", name="Remove old texts").click()
    page.get_by_text("Its 1 text and the record").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Remove old texts").click()
    page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    page.get_by_role("link", name="Join old texts").wait_for(state="detached")
    assert "old texts" not in [queue["name"] for queue in visit.get("v1/queues")["queues"]]


def test_a_second_opinion_is_blind_and_compared(open_visit):
    one, two = open_visit(), open_visit()
    one.open()
    two.open()
    make(one, "reviewed", ["Gardens of the north", "Forest fires in Finland"], reviews=1)
    join(one, "reviewed")
    for _ in range(2):
        assert shows(one) is not None
        one.press("1", "Enter")
    assert shows(one) is None  # nobody reviews their own decision
    join(two, "reviewed")
    assert shows(two) == "Gardens of the north"
    two.page.get_by_text("Second opinion: another person has decided").wait_for()
    assert two.page.locator(".row.is-accepted").count() == 0
    assert (
        queue_of(one, "reviewed")["counts"] | {"total": 2, "leased": 1, "review": 1}
        == queue_of(one, "reviewed")["counts"]
    )
    two.press("1", "Enter")
    assert shows(two) == "Forest fires in Finland"
    two.press("2", "Enter")
    assert shows(two) is None
    two.page.get_by_text("50% of 2 texts identical").wait_for()
    assert queue_of(one, "reviewed")["agreement"]["texts"] == 2
    two.press("v")  # whoever is responsible sees both, where they differ
    two.page.get_by_label("Show texts").select_option("differs")
    detail = two.page.locator(".text-row", has_text="Forest fires").locator(".text-detail")
    detail.get_by_text("second opinion: ").wait_for()
    two.page.wait_for_function("() => document.querySelectorAll('.text-row').length === 1")


def test_a_decision_on_a_text_that_passed_to_somebody_else_is_refused_with_a_sentence(open_visit):
    one, two = open_visit(), open_visit()
    one.open()
    two.open()
    make(one, "lost", ["Wooden boats of the north", "Wooden boats of the south"])
    join(one, "lost")
    text = shows(one)
    one.press("1")
    item = one.get("v1/queue?name=lost&state=leased")["items"][0]["item"]
    holder = one.page.evaluate("JSON.parse(sessionStorage.getItem('abound:holder'))")
    one.post("v1/queue/release", {"name": "lost", "item": item, "holder": holder})
    join(two, "lost")
    assert shows(two) == text
    one.press("Enter")
    one.page.locator(
        "#notice", has_text=f"The text “{text}” passed to somebody else. Your decisions on it were not kept."
    ).wait_for()
    one.page.wait_for_function("(text) => document.getElementById('text').value !== text", arg=text)
    one.problems[:] = [found for found in one.problems if "409" not in found]


def test_the_last_text_can_be_decided_again(visit):
    make(visit, "again", ["Wooden boats of the east", "Wooden boats of the west"])
    join(visit, "again")
    text, page = shows(visit), visit.page
    before = visit.sequence
    visit.press("1", "Enter")
    assert shows(visit) != text
    visit.press("p")
    page.wait_for_function("(text) => document.getElementById('text').value === text", arg=text, timeout=120_000)
    assert shows(visit) == text
    assert page.locator(".row.is-accepted").count() == 0
    visit.press("2", "Enter")
    page.wait_for_function("(text) => document.getElementById('text').value !== text", arg=text)
    assert visit.sequence == before + 3  # taught, undone, taught
    assert queue_of(visit, "again")["counts"]["done"] == 1


def live(visit, text):
    """Return the labels that the corrections of a text in effect accept or add, one list for each correction."""
    records = visit.get("v1/records?limit=50")["records"]
    return [one["accepted"] + one["added"] for one in records if one.get("text") == text and one["status"] == "live"]


def test_a_text_of_a_shared_queue_and_of_tag_is_taught_once(visit):
    text = "Wooden boats and their builders on the lakes"
    labels = [entry["label"] for entry in visit.rank(text)]
    visit.open()
    visit.type(text)
    visit.press("Escape", "1", "Enter")
    visit.page.locator(".pending-what", has_text="Learned.").wait_for()
    assert live(visit, text) == [labels[:1]]
    make(visit, "also on tag", [text, "Wooden boats of the sea"])
    join(visit, "also on tag")
    assert shows(visit) == text  # with the decision that was made on Tag
    visit.page.locator(".row.is-accepted").wait_for()
    second = visit.names[1]
    visit.press("2", "Enter")
    visit.page.wait_for_function("(text) => document.getElementById('text').value !== text", arg=text, timeout=120_000)
    [taught] = live(visit, text)  # in the queue
    assert len(taught) == 2
    visit.open()
    visit.page.locator(".row.is-accepted").nth(1).wait_for()
    visit.page.locator(".chip", has_text=second).click()  # take one label back
    visit.page.get_by_role("button", name="Done").click()
    visit.page.locator(".pending-what", has_text="Learned.").wait_for(timeout=120_000)
    [again] = live(visit, text)  # on Tag
    assert len(again) == 1
    assert set(again) < set(taught)
    join(visit, "also on tag")
    assert shows(visit) == "Wooden boats of the sea"


def test_a_decision_whose_answer_was_lost_is_not_offered_again(visit):
    text = "Wooden boats without an answer"
    make(visit, "unanswered", [text, "Wooden boats of the bay"])
    join(visit, "unanswered")
    assert shows(visit) == text
    visit.page.route("**/v1/queue/decide", lambda route: (route.fetch(), route.abort()))
    visit.press("1", "Enter")
    visit.page.get_by_text("The page tries again.").wait_for()
    visit.page.unroute_all(behavior="ignoreErrors")
    visit.page.reload()
    assert shows(visit) == "Wooden boats of the bay"
    visit.page.get_by_text("No decisions yet.").wait_for()  # and nothing of the other text waits to be sent
    assert len(live(visit, text)) == 1
    visit.problems[:] = [found for found in visit.problems if "409" not in found and "ERR_FAILED" not in found]


@pytest.mark.parametrize("is_in_field", [False, True])
def test_the_page_says_that_a_shared_text_cannot_be_edited(visit, is_in_field):
    name = f"fixed {is_in_field}"
    make(visit, name, ["Wooden boats of the west", "Wooden boats of the gulf"])
    join(visit, name)
    text = shows(visit)
    if is_in_field:
        visit.page.locator("#text").focus()
    visit.press("e")
    says = visit.page.get_by_text("A text of a shared queue cannot be edited")
    says.wait_for()
    assert visit.page.locator("#text").input_value() == text
    visit.press("Escape", "s")
    visit.page.wait_for_function("(text) => document.getElementById('text').value !== text", arg=text)
    assert says.count() == 0
