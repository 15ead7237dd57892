"""Details, progress, files, and the page's error messages."""

import json

import pytest

from tests.documents import docx, paragraph, pdf

pytestmark = [pytest.mark.browser, pytest.mark.data]
DROP = """([name, content]) => {
    const data = new DataTransfer();
    data.items.add(new File([content], name));
    const place = document.querySelector('.text-card, .drop');
    place.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def test_a_label_and_a_word_from_inside(visit):
    page = visit.page
    visit.type("Wooden boats of the archipelago")
    visit.press("Escape", "o")
    page.wait_for_selector(".facts")
    inside = visit.get(f"v1/label?name={visit.rank('Wooden boats of the archipelago')[0]['label']}")
    assert page.locator("h1").text_content() == inside["names"][0]
    assert page.locator(".fact-value").first.text_content() == f"{inside['count']:,}"
    assert page.locator(".votes tr").count() == len(inside["words"])
    assert page.locator(".rivals > li").count() == len(inside["rivals"]) > 0
    word = inside["words"][0]["word"]
    page.locator(".votes a").first.click()
    page.locator("h1", has_text=word).wait_for()
    found = visit.get(f"v1/word?word={word}")
    assert page.locator(".votes tr").count() == len(found["labels"])
    page.goto(f"{visit.address}/#/word?word=nowhereseen")
    page.get_by_text("nowhereseen is not known.").wait_for()
    visit.problems.clear()  # the browser tells of the 404


def test_a_label_is_merged_and_retired_after_a_look_at_what_changes(visit):
    page = visit.page
    for name in ("sail boats of wood", "rowing boats of wood"):
        visit.post("v1/learn", {"text": f"a book on {name}", "added": [name]})
    page.goto(f"{visit.address}/#/label?name=sail%20boats%20of%20wood")
    page.get_by_role("button", name="Merge").click()
    page.keyboard.type("rowing boats of w")
    page.wait_for_selector("[role=option]")
    visit.press("Enter")
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("It was learned from 2 texts").wait_for()
    dialog.get_by_role("button", name="Merge").click()
    page.locator("h1", has_text="rowing boats of wood").wait_for()
    page.wait_for_selector(".facts")
    assert "former and merged names sail boats of wood" in page.locator("main").text_content()
    page.goto(f"{visit.address}/#/label?name=sail%20boats%20of%20wood")  # the old name leads to it
    page.locator("h1", has_text="rowing boats of wood").wait_for()
    page.get_by_role("button", name="Retire").click()
    dialog.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Retire").click()
    dialog.get_by_role("button", name="Retire").click()
    page.locator("h1", has_text="Labels").wait_for()
    assert "rowing boats of wood" not in [entry["label"] for entry in visit.rank("a book on rowing boats of wood")]
    page.goto(f"{visit.address}/#/label?name=rowing%20boats%20of%20wood")
    page.get_by_text("rowing boats of wood is retired.").wait_for()
    visit.problems.clear()  # the browser tells of the 404


def test_to_retire_a_label_is_asked_with_the_colour_of_a_warning(visit):
    page = visit.page
    page.goto(f"{visit.address}/#/label?name=11855")
    page.get_by_role("button", name="Retire").click()
    dialog = page.get_by_role("dialog", name="Retire forest fires?")
    retire = dialog.get_by_role("button", name="Retire")
    friendly = page.evaluate("() => getComputedStyle(document.querySelector('.tabs')).getPropertyValue('--accent')")
    colours = page.evaluate(
        """(accent) => {
            const probe = document.body.appendChild(document.createElement('i'));
            probe.style.color = accent;
            return getComputedStyle(probe).color;
        }""",
        friendly,
    )
    assert retire.evaluate("(button) => getComputedStyle(button).backgroundColor") != colours
    visit.press("Enter")  # the focus is on Cancel
    dialog.wait_for(state="detached")
    assert page.evaluate("document.activeElement.textContent") == "Retire"
    assert visit.get("v1/label?name=11855")["label"] == "11855"


def test_enter_pressed_twice_does_not_retire_a_label(visit):
    page = visit.page
    page.goto(f"{visit.address}/#/label?name=11855")
    page.get_by_role("button", name="Retire").press("Enter")
    page.get_by_text("It was learned from").wait_for()
    visit.press("Enter")
    page.wait_for_timeout(1000)
    assert visit.get("v1/label?name=11855")["label"] == "11855"


def test_a_name_that_another_label_has_is_refused(visit):
    page = visit.page
    page.goto(f"{visit.address}/#/label?name=11855")
    page.get_by_role("button", name="Rename").click()
    page.locator("#new-name").fill("violinists")
    visit.press("Enter")
    page.locator(".label-edit .problem", has_text="violinists").wait_for()
    assert visit.get("v1/label?name=11855")["names"][0] == "forest fires"
    visit.problems.clear()  # the browser tells of the refusal


def test_a_page_of_a_label_comes_back_with_the_server(visit):
    page = visit.page
    page.route("**/v1/label?**", lambda route: route.abort())
    page.goto(f"{visit.address}/#/label?name=11855")
    page.get_by_text("The server does not answer. The page tries again.").wait_for()
    page.goto(f"{visit.address}/#/word?word=fires")  # what was asked before does not disturb another page
    page.locator("h1", has_text="fires").wait_for()
    page.goto(f"{visit.address}/#/label?name=11855")
    page.get_by_text("The server does not answer. The page tries again.").wait_for()
    page.unroute("**/v1/label?**")
    page.locator("h1", has_text="forest fires").wait_for()
    page.locator(".votes tr").first.wait_for()
    visit.problems.clear()


def test_a_word_says_that_its_list_has_a_limit(visit):
    page = visit.page
    page.goto(f"{visit.address}/#/word?word=fires")
    page.get_by_text("Its 20 strongest votes, as if it were the only word of a text.").wait_for()
    assert page.locator(".votes tr").count() == 20
    assert "labels it votes for" not in page.locator("main").text_content()


def test_progress_follows_what_is_learnt(visit, stage_of_titles):
    page = visit.page
    for text, labels in stage_of_titles.rows[200:260]:
        visit.post("v1/learn", {"text": text, "added": labels})
    visit.open("progress")
    page.wait_for_selector(".chart .line")
    found = visit.get("v1/progress")
    values = page.locator(".fact-value").all_text_contents()
    assert values[0] == f"{found['rows']:,}"
    assert values[2] == f"{found['learnt']:,}"
    assert f"revision {found['sequence']:,}" in page.locator("main").text_content()
    assert page.locator(".plain").last.locator("tbody tr").count() == len(found["workers"]) == 1


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("a.csv", 'id,title\n1,"A ""red"" apple, ripe"\r\n2,A fast car\n', ['A "red" apple, ripe', "A fast car"]),
        ("b.csv", "short;a text that is far longer\nx;another one of these texts\n", None),
        ("c.jsonl", '{"text": "one"}\n\n{"text": "two"}\n', ["one", "two"]),
        ("d.tsv", "labels\ttext\na b\tthree\n", ["three"]),
        ("e.txt", "line one\nline two\n", ["line one", "line two"]),
    ],
)
def test_files_become_queues(visit, name, content, texts):
    page = visit.page
    page.evaluate(DROP, [name, content])
    if name.endswith(".txt"):
        page.get_by_role("button", name="2 texts, one per line").click()
    texts = texts or ["a text that is far longer", "another one of these texts"]
    for i, text in enumerate(texts):
        page.get_by_text(f"{i + 1} of {len(texts)}", exact=True).wait_for()
        assert page.locator("#text").input_value() == text
        visit.press("n")


def test_a_file_may_be_one_text_or_none(visit):
    page = visit.page
    page.evaluate(DROP, ["letter.txt", "Dear sir,\nthe boats have come.\n"])
    page.get_by_role("button", name="One text").click()
    page.wait_for_function("() => document.getElementById('text').value.startsWith('Dear sir')")
    for name, content, words in (
        ("x.jpg", "x", "x.jpg is not a .txt, .csv, .tsv, .jsonl, .pdf, .docx or .html file."),
        ("x.jsonl", "{oops", "Line 1 is not valid JSON."),
        ("x.csv", "", "x.csv contains no text."),
    ):
        page.evaluate(DROP, [name, content])
        page.locator("#notice", has_text=words).wait_for()


def test_the_server_reads_a_document_that_is_dropped_or_chosen(visit):
    page = visit.page
    page.evaluate(DROP, ["page.html", "<title>Wooden boats</title><script>no</script><p>of the archipelago"])
    page.wait_for_function("() => document.getElementById('text').value === 'Wooden boats\\nof the archipelago'")
    visit.ranked("Wooden boats\nof the archipelago")
    page.evaluate(DROP, ["letter.docx", "not a zip"])
    page.locator("#notice", has_text="the file is not a Word document; download or save it again").wait_for()
    visit.problems.clear()  # the browser tells of the 422
    for name, buffer, text in (
        ("letter.docx", docx(paragraph("Roses in winter")), "Roses in winter\n"),
        ("report.pdf", pdf("Roses in summer"), "Roses in summer"),
    ):
        visit.open("queue")
        page.wait_for_selector(".drop")
        page.locator("#file").set_input_files({"name": name, "mimeType": "", "buffer": buffer})
        page.wait_for_function("(text) => document.getElementById('text')?.value === text", arg=text)
        visit.ranked(text)
    assert page.locator("#notice").is_hidden()


def test_a_long_document_is_ranked_without_reasons(visit):
    page = visit.page
    text = "Wooden boats of the archipelago. " * 4000
    page.evaluate(DROP, ["book.html", f"<p>{text}"])
    page.get_by_text("This text is too long for an explanation.").wait_for()
    labels = visit.post("v1/rank", {"text": text.strip()})["labels"]
    assert page.locator(".pick").first.text_content() == labels[0]["name"]


def problem(status, **headers):
    body = {"type": "about:blank", "title": "no", "status": status, "detail": "a sentence of the server"}
    return {"status": status, "body": json.dumps(body), "content_type": "application/problem+json", "headers": headers}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (413, "This text is too long for the server."),
        (429, "Too many requests. The page waits and tries again."),
        (401, "The server requires a key."),
        (422, "a sentence of the server"),
    ],
)
def test_refusals_are_said(visit, status, words):
    page = visit.page
    page.route("**/v1/rank", lambda route: route.fulfill(**problem(status)))
    page.locator("#text").fill("a text")
    page.locator("#state", has_text=words).wait_for()
    page.unroute("**/v1/rank")
    if status == 401:
        page.get_by_role("button", name="Enter a key").click()
        page.locator("#key").fill("secret")
        with page.expect_request("**/v1/rank") as request:
            visit.press("Enter")
        assert request.value.headers["authorization"] == "Bearer secret"
    elif status == 429:  # it retries automatically
        page.wait_for_selector(".row")
    visit.problems.clear()  # the browser tells of the statuses


def test_a_server_that_is_gone_loses_no_decision(visit):
    page, before = visit.page, visit.sequence
    visit.type("Gardens of the north")
    page.route("**/v1/**", lambda route: route.abort())
    visit.press("Escape", "a", "Enter")
    page.locator("#notice", has_text="The server does not answer.").wait_for()
    page.locator(".chip.accept.waiting").wait_for()
    page.unroute("**/v1/**")
    page.wait_for_selector(".chip.accept.learned")
    assert visit.sequence == before + 1
    page.wait_for_selector("#notice", state="hidden")
    visit.problems.clear()


def test_what_the_server_refuses_is_said_and_stays_a_decision(visit):
    page = visit.page
    visit.type("Gardens of the south")
    page.route("**/v1/learn", lambda route: route.fulfill(**problem(422)))
    visit.press("Escape", "a", "Enter")
    page.locator("#notice", has_text="Not learned: a sentence of the server").wait_for()
    page.locator(".chip.accept.pending").wait_for()
    visit.press("u")
    visit.settled(0)
    assert page.locator(".chip").count() == 0
    visit.problems.clear()
