"""axe-core in the states that are seldom seen: shared queues, ends, empty views, questions, notices, a slow server."""

import itertools

import pytest

from tests.page.accessible import WINDOWS, faults, windows
from tests.page.test_parts import DROP, problem
from tests.page.test_queue import TABLE, at, choose
from tests.page.test_shared_queue import join, make, shows
from tests.page.test_slow_server import SLOW
from tests.page.test_views import EMPTY, answer_nothing

pytestmark = [pytest.mark.browser, pytest.mark.data]
TITLE = "Forest fires and climate change in Finland"
LONG = TABLE.replace("Year\n", "Note;Year\n").replace(";199", f";{'A long note. ' * 200};199")

NUMBERS = itertools.count(1)


def opened(visit, name):
    """Wait for a dialog of this name."""
    visit.page.get_by_role("dialog", name=name).wait_for()
    return name


def closed(visit):
    visit.press("Escape")
    visit.page.wait_for_selector("dialog", state="detached")


def decided_by_another(visit, name):
    """Let somebody else decide on the first text of a shared queue."""
    item = visit.post("v1/queue/next", {"name": name, "holder": "another"})["item"]["item"]
    visit.post("v1/queue/decide", {"name": name, "item": item, "holder": "another", "added": ["11855"]})


def shared_queue_states(visit):
    page = visit.page
    visit.open()
    about = {"guidelines": "At most three subjects.\nNo places.\n" * 10, "reviews": 1}
    name = f"boats {next(NUMBERS)}"  # windows of the same size use the same server
    make(visit, name, ["Wooden boats", "Boats of iron", "Boats of paper"], **about)
    decided_by_another(visit, name)
    visit.open("queue")
    page.get_by_role("link", name=f"Join {name}").wait_for()
    yield "start with a shared queue"
    page.get_by_role("button", name=f"Remove {name}").click()
    yield opened(visit, f"Remove {name}?")
    closed(visit)
    join(visit, name)
    assert shows(visit) == "Boats of iron"
    yield "held text with guidelines"
    visit.press("Enter")
    page.locator("#pending", has_text="No label is decided.").wait_for()
    yield "nothing is decided"
    visit.press("1", "Enter")
    assert shows(visit) == "Boats of paper"
    visit.press("v")
    page.wait_for_function("() => document.querySelectorAll('.text-row').length === 3")
    yield "list of shared texts"
    page.locator(".text-row", has_text="Boats of iron").click()
    page.locator("#notice .quiet").wait_for()
    yield "a text that another person has to decide"
    visit.press("Escape", "v")
    page.get_by_role("button", name="None fits").click()
    assert shows(visit) == "Wooden boats"
    page.get_by_text("Second opinion: another person has decided").wait_for()
    yield "second opinion"
    page.get_by_role("button", name="Skip").click()
    assert shows(visit) is None
    yield "end of a shared queue"
    join(visit, "unheard of")
    page.get_by_text("queue").first.wait_for()
    yield "no such queue"


def file_button(visit, name):
    """Press a button of the file, which a narrow window has in a menu."""
    page = visit.page
    page.evaluate("() => document.querySelectorAll('.file-menu').forEach((menu) => { menu.open = true; })")
    page.get_by_role("button", name=name).click()


def file_queue_states(visit):
    page = visit.page
    visit.open("queue")
    choose(page, "essays.csv", LONG)
    at(visit, 1)
    yield "long columns"
    file_button(visit, "Columns")
    yield opened(visit, "Which columns are the text?")
    closed(visit)
    file_button(visit, "Share")
    yield opened(visit, "Share the undecided texts")
    closed(visit)
    page.locator("#text").fill("Gardens of the south")
    visit.ranked("Gardens of the south")
    page.get_by_role("button", name="Restore the file’s text").wait_for()
    yield "edited text"
    visit.press("Escape", "z", "v")
    page.locator(".text-state.is-none").wait_for()
    yield "list of texts"
    page.get_by_label("Search texts").fill("nowhere")
    page.get_by_text("0 texts", exact=True).wait_for()
    yield "no text is found"
    page.get_by_label("Search texts").fill("")
    page.locator("#text").focus()
    visit.press("Escape", "v", "p")
    page.get_by_text("marked “none fits”").wait_for()
    yield "text that is decided"
    visit.press("n", "s", "s", "s", "s")
    page.get_by_role("heading", name="The end of the queue").wait_for()
    yield "end of a queue"
    file_button(visit, "Columns")
    yield opened(visit, "Columns")
    closed(visit)
    page.locator(".end").get_by_role("button", name="Close file").click()
    yield opened(visit, "Close essays.csv?")
    closed(visit)
    page.goto(f"{visit.address}/#/queue?start")
    page.get_by_role("link", name="Continue").wait_for()
    yield "start with a file"
    choose(page, "other.txt", "one\ntwo\n")
    yield opened(visit, "Replace essays.csv?")
    closed(visit)
    choose(page, "broken.jsonl", "{")
    page.locator("#notice", has_text="is not valid JSON").wait_for()
    yield "notice of a problem"
    visit.open("tag")
    page.wait_for_selector(".text-card")
    page.evaluate(DROP, ["two.txt", "one\ntwo\n"])
    yield opened(visit, "two.txt")
    closed(visit)


def question_states(visit):
    page = visit.page
    visit.open()
    visit.type(f"{TITLE}. " * 40)  # in the question it scrolls
    visit.press("Escape", "1", "Enter")
    page.locator("#pending", has_text="Learned.").wait_for()
    yield "learned"
    visit.press("u")
    page.locator("#pending", has_text="Undo the correction").wait_for()
    yield "question before undo"
    visit.press("Escape")
    visit.open("history")
    page.get_by_role("button", name="Undo").first.click()
    yield opened(visit, "Undo this correction?")
    page.route("**/v1/undo", lambda route: route.fulfill(**problem(403)))
    page.get_by_role("dialog").get_by_role("button", name="Undo").click()
    page.get_by_role("dialog").get_by_text("This key does not allow this action.").wait_for()
    yield "undo is refused"
    closed(visit)
    visit.open("label?name=11855")
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("button", name="Check").click()
    page.get_by_text("Enter a different name.").wait_for()
    yield "name that is the same"
    page.locator("#new-name").fill("fires in forests")
    visit.press("Enter")
    yield opened(visit, "Rename forest fires to fires in forests?")
    closed(visit)
    page.get_by_role("button", name="Merge").click()
    page.keyboard.type("climate changes")
    page.locator("[role=option]").first.wait_for()
    yield "labels to merge with"
    visit.press("Enter")
    yield opened(visit, "Merge forest fires into climate changes?")
    closed(visit)
    page.get_by_role("button", name="Retire").click()
    yield opened(visit, "Retire forest fires?")
    closed(visit)


def empty_states(visit):
    page = visit.page
    visit.open()
    page.locator("#text").fill("zzzz qqqq")
    page.get_by_text("No word of this text votes").wait_for()
    yield "text without labels"
    page.locator("#text").fill("https://example.org/report.pdf")
    page.get_by_text("The server never fetches an address").wait_for()
    yield "address"
    for part, words in (
        ("labels?query=zzzz", "No label has a name with words that begin like this."),
        ("history?who=nobody", "No entry matches."),
        ("label?name=zzzz", "zzzz is not known."),
        ("word?word=zzzz", "zzzz is not known."),
    ):
        visit.open(part)
        page.get_by_text(words).wait_for()
        yield part
    answer_nothing(page)
    for part, words in EMPTY:
        visit.open(part)
        page.get_by_text(words).wait_for()
        yield f"{part} without corrections"


def waiting_states(visit):
    page = visit.page
    visit.open()
    visit.type(TITLE)
    page.evaluate(SLOW, 600_000)
    page.locator("#text").press("End")
    page.keyboard.type(" today")
    page.get_by_text("Ranking…").wait_for()
    yield "labels of an older text"
    page.reload()
    visit.open("queue")
    choose(page, "essays.csv", TABLE)
    at(visit, 1)
    page.evaluate(SLOW, 600_000)
    visit.press("n")
    page.get_by_text("Ranking…").wait_for()
    yield "next text without labels"


def gone_states(visit):
    page = visit.page
    visit.open()
    page.route("**/v1/**", lambda route: route.fulfill(**problem(401)))
    page.locator("#text").fill(TITLE)
    page.locator("#notice", has_text="The server requires a key.").wait_for()
    yield "a key is needed"
    page.get_by_role("button", name="Enter a key").click()
    yield opened(visit, "Key")
    closed(visit)
    page.unroute("**/v1/**")
    page.reload()
    visit.type(TITLE)
    visit.press("Escape", "1")
    page.locator(".chip.pending").wait_for()  # the labels were those of the text
    page.route("**/v1/**", lambda route: route.abort())
    visit.press("Enter")
    page.locator("#notice", has_text="The server does not answer.").wait_for()
    page.locator(".chip.waiting").wait_for()
    yield "decision that waits for the server"
    for part, words in (
        ("labels", "The page tries again."),
        ("label?name=11855", "The page tries again."),
        ("word?word=fires", "The page tries again."),
        ("progress", "The server does not answer."),
        ("history", "The server does not answer."),
        ("queue", "The shared queues cannot be shown"),
        ("queue?name=boats", "The page tries again."),
    ):
        page.goto(f"{visit.address}/#/{part}")
        page.get_by_role("main").get_by_text(words).wait_for()
        yield f"{part} without the server"
    page.unroute("**/v1/**")


STATES = [shared_queue_states, file_queue_states, question_states, empty_states, waiting_states, gone_states]


@pytest.mark.parametrize("screen", windows("phone"))
@pytest.mark.parametrize("states", STATES)
def test_axe_finds_nothing_in_states_that_are_seldom_seen(open_visit, axe, screen, states):
    visit = open_visit(**WINDOWS[screen])
    found = {state: faults(visit.page, axe) for state in states(visit)}
    visit.problems.clear()  # the browser tells of statuses and of requests without an answer
    assert len(found) > 1
    assert {state: wrong for state, wrong in found.items() if wrong} == {}
