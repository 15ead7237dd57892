"""The queue of a file: its list of texts, every column, each way to decide, the export, and what is never lost."""

import csv
import io
import json

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.data]
TITLES = ["Gardens of the north", "Forest fires in Finland", "Wooden boats", "Northern berries", "The winter war"]
TABLE = "Nr;Title;Abstract;Year\n" + "".join(
    f'{i + 100};{title};"On {title.lower()}; an essay";{1990 + i}\n' for i, title in enumerate(TITLES)
)


@pytest.fixture
def queue(visit):
    """The queue of a table with five rows."""
    visit.open("queue")
    choose(visit.page, "essays.csv", TABLE)
    at(visit, 1)
    return visit


def choose(page, name, content):
    page.locator("#file").set_input_files({"name": name, "mimeType": "", "buffer": content.encode()})


def at(visit, number, of=5):
    visit.page.get_by_text(f"{number} of {of}", exact=True).wait_for()
    visit.ranked(visit.page.locator("#text").input_value())


def export(visit, act=None):
    with visit.page.expect_download() as download:
        visit.press("x") if act is None else act()
    return download.value.suggested_filename, download.value.path().read_text(encoding="utf-8-sig")


def delay_answers(page):
    page.evaluate(
        "() => { const sent = fetch;"
        " window.fetch = (...asked) => new Promise((go) => setTimeout(go, 300)).then(() => sent(...asked)); }"
    )


def shown(visit):
    return visit.page.locator(".text-words").all_text_contents()


def test_a_title_and_an_abstract_are_one_text_and_the_other_columns_are_shown(queue):
    page = queue.page
    assert page.locator("#text").input_value() == "Gardens of the north\nOn gardens of the north; an essay"
    assert page.locator(".columns").inner_text().split() == ["Nr", "100", "Year", "1990"]
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("checkbox", name="Abstract").uncheck()
    page.get_by_role("button", name="Use them").click()
    page.wait_for_function("() => document.getElementById('text').value === 'Gardens of the north'")
    assert "On gardens" in page.locator(".columns").inner_text()
    page.reload()
    page.wait_for_function("() => document.getElementById('text')?.value === 'Gardens of the north'")


def test_each_way_to_decide_and_the_export_in_the_format_of_the_file(queue):
    page, before = queue.page, queue.sequence
    first, second = queue.rank(page.locator("#text").input_value())[:2]
    queue.press("a", "j", "r", "Enter")
    at(queue, 2)
    queue.press("Enter")  # nothing is decided: it stays, and says so
    page.locator("#pending", has_text="No label is decided.").wait_for()
    queue.press("s")
    at(queue, 3)
    queue.press("z")
    at(queue, 4)
    page.get_by_text("2 texts decided").wait_for()
    queue.press("p", "z")  # the same again takes it back
    page.get_by_text("1 text decided").wait_for()
    queue.press("z")
    at(queue, 4)
    page.get_by_text("2 texts decided").wait_for()
    name, content = export(queue)
    assert name == "essays-decided.csv"
    rows = list(csv.DictReader(io.StringIO(content), delimiter=";"))
    assert [(row["Nr"], row["Title"], row["Year"], row["decision"]) for row in rows] == [
        ("100", TITLES[0], "1990", "decided"),
        ("102", TITLES[2], "1992", "none fits"),
    ]
    assert (rows[0]["labels"], rows[0]["label_names"]) == (first["label"], first["name"])
    assert (rows[0]["rejected"], rows[0]["rejected_names"]) == (second["label"], second["name"])
    assert rows[1]["labels"] == ""
    queue.settled(before + 1)
    assert queue.sequence == before + 1  # one correction; a skipped text and "none fits" teach nothing


def test_texts_are_listed_filtered_searched_and_picked(queue):
    page = queue.page
    queue.press("a", "Enter", "s")
    at(queue, 3)
    queue.press("v")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Search texts"
    assert [text.split("\n")[0] for text in shown(queue)] == TITLES
    assert page.locator(".text-state").all_text_contents() == ["decided", "skipped", *["undecided"] * 3]
    page.get_by_label("Show texts").select_option("open")
    page.wait_for_function("() => document.querySelectorAll('.text-row').length === 3")
    page.get_by_label("Search texts").fill("WAR winter")
    page.wait_for_function("() => document.querySelectorAll('.text-row').length === 1")
    assert page.locator(".texts-head .hint").text_content() == "1 text"
    page.locator(".text-row").click()
    at(queue, 5)
    page.locator(".text-row[aria-current=true]", has_text="The winter war").wait_for()
    page.get_by_role("button", name="Next undecided").click()
    at(queue, 3)


def test_ten_thousand_texts_are_searched_quickly(visit):
    page = visit.page
    visit.open("queue")
    rows = "".join(f"A book on subject {i} of {'many ' * 20}\n" for i in range(10_000))
    choose(page, "many.txt", rows)
    page.get_by_text("1 of 10,000", exact=True).wait_for()
    visit.press("v")
    page.get_by_text("10,000 texts", exact=True).wait_for()
    assert page.locator(".text-row").count() == 100
    page.get_by_role("button", name="Show more").click()
    page.wait_for_function("() => document.querySelectorAll('.text-row').length === 200")
    took = page.evaluate(
        """async () => {
            const field = document.querySelector('[aria-label="Search texts"]');
            const before = performance.now();
            field.value = 'subject 9999';
            field.dispatchEvent(new Event('input'));
            await new Promise(requestAnimationFrame);
            return performance.now() - before;
        }"""
    )
    assert shown(visit)[0].startswith("A book on subject 9999")
    assert took < 1000
    page.get_by_role("button", name="Close file").click()


def test_the_end_says_what_is_left(queue):
    page = queue.page
    for _ in range(4):
        queue.press("z")
    at(queue, 5)
    queue.press("s")
    page.get_by_role("heading", name="The end of the queue").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "The end of the queue"
    assert page.locator(".end .fact-value").all_text_contents() == ["0", "4", "1", "0"]
    assert page.locator(".bench").is_hidden()
    _, content = export(queue, page.get_by_role("button", name="Export all texts").click)
    assert content.count("none fits") == 4
    assert ";skipped;" in content
    page.reload()
    page.get_by_role("button", name="To the skipped texts").click()
    at(queue, 5)
    queue.press("a", "Enter")
    page.get_by_role("heading", name="All texts are decided").wait_for()


def test_an_edited_text_is_kept_taught_and_can_be_restored(queue):
    page = queue.page
    edited = "Gardens of the south"
    page.locator("#text").fill(edited)
    queue.ranked(edited)
    queue.press("Escape", "n")
    at(queue, 2)
    queue.press("p")
    at(queue, 1)
    assert page.locator("#text").input_value() == edited
    page.reload()
    at(queue, 1)
    assert page.locator("#text").input_value() == edited
    queue.press("a", "Enter")
    at(queue, 2)
    _, content = export(queue)
    [row] = csv.DictReader(io.StringIO(content), delimiter=";")
    assert (row["text"], row["Title"]) == (edited, TITLES[0])
    queue.press("p")
    page.get_by_role("button", name="Restore the file’s text").click()
    page.wait_for_function("() => document.getElementById('text').value.startsWith('Gardens of the north')")


def test_nothing_decided_is_discarded_without_a_question(queue):
    page = queue.page
    queue.press("z")
    at(queue, 2)
    choose_another = {"name": "other.txt", "mimeType": "", "buffer": b"one\ntwo\n"}
    data = page.evaluate_handle(
        "() => { const data = new DataTransfer(); data.items.add(new File(['one\\n'], 'other.jsonl')); return data; }"
    )
    page.get_by_role("button", name="Close file").click()
    page.get_by_text("The file has 1 decided text.").wait_for()
    queue.press("Escape")
    page.get_by_text("1 text decided").wait_for()
    page.dispatch_event(".text-card", "drop", {"dataTransfer": data})
    page.locator("#notice", has_text="Line 1 is not valid JSON.").wait_for()  # and the queue stays
    page.get_by_text("2 of 5", exact=True).wait_for()
    visit_start(queue)
    page.locator("#file").set_input_files(choose_another)
    page.get_by_role("heading", name="Replace essays.csv?").wait_for()
    _, content = export(queue, page.get_by_role("button", name="Export and replace").click)
    assert "none fits" in content
    page.get_by_text("1 of 2", exact=True).wait_for()
    page.get_by_role("button", name="Close file").click()
    page.get_by_text("Drop a file here").wait_for()


def visit_start(visit):
    visit.page.goto(f"{visit.address}/#/queue?start")
    visit.page.get_by_role("link", name="Continue").wait_for()


def test_json_lines_keep_their_fields_and_get_names(visit):
    page = visit.page
    visit.open("queue")
    records = [{"id": 7, "title": "Roses", "abstract": "in winter", "labels": ["old"]}, {"id": 8, "title": "Cars"}]
    choose(page, "new.jsonl", "".join(json.dumps(record) + "\n" for record in records))
    at(visit, 1, 2)
    text = page.locator("#text").input_value()
    assert text == "Roses\nin winter"
    first = visit.rank(text)[0]
    visit.press("a", "Enter")
    at(visit, 2, 2)
    name, content = export(visit)
    assert name == "new-decided.jsonl"
    assert json.loads(content) == {
        "id": 7, "title": "Roses", "abstract": "in winter", "labels_in_file": ["old"], "text": text, "row": 1,
        "labels": [first["label"]], "label_names": [first["name"]], "accepted": [first["label"]], "added": [],
        "rejected": [], "rejected_names": [], "decision": "decided",
    }  # fmt: skip


def test_a_correction_that_is_undone_reopens_its_text(queue):
    page, before = queue.page, queue.sequence
    queue.press("a", "Enter")
    at(queue, 2)
    page.get_by_text("1 text decided").wait_for()
    queue.settled(before + 1)
    queue.press("u", "u")  # a question, and its answer
    page.get_by_text("0 texts decided").wait_for()
    queue.settled(before + 2)
    queue.press("p")
    at(queue, 1)
    assert page.locator(".row.is-accepted").count() == 0
    assert page.locator(".queue-state").is_hidden()


def test_rows_without_a_text_and_a_bar_in_a_label_are_told(visit):
    page = visit.page
    visit.open("queue")
    choose(page, "gaps.csv", "id,title,title\n1,,\n2,Gardens,x\n3,Roses,y\n")
    at(visit, 1, 2)
    page.locator("#notice", has_text="1 row without a text is left out.").wait_for()
    assert page.locator(".columns").inner_text().split("\n")[-1].endswith("x")  # the second column of that name
    visit.press("/")
    page.keyboard.type("this|that")
    page.wait_for_selector("[role=option].is-new")
    visit.press("Enter", "Enter")
    at(visit, 2, 2)
    _, content = export(visit)
    page.locator("#notice", has_text="A label contains a bar, so ; separates the labels").wait_for()
    [row] = csv.DictReader(io.StringIO(content))
    assert (row["labels"], row["row"], row["title (2)"]) == ("this|that", "2", "x")


def test_keys_wait_for_the_labels_of_a_text_that_is_left_and_shown_again_at_once(queue):
    delay_answers(queue.page)
    queue.press("n", "p", "j", "a", "Enter")
    queue.page.get_by_text("1 text decided").wait_for()
    queue.page.get_by_text("2 of 5", exact=True).wait_for()


def test_a_queue_of_twenty_titles_by_keyboard(visit, stage_of_titles, tmp_path):
    page, before = visit.page, visit.sequence
    titles = [text for text, _ in stage_of_titles.rows[100:120]]
    file = tmp_path / "new titles.jsonl"
    file.write_text("".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(titles)))
    visit.open("queue")
    page.locator("#file").set_input_files(file)
    accepted = []
    for i, title in enumerate(titles):
        page.get_by_text(f"{i + 1} of 20", exact=True).wait_for()
        assert page.locator("#text").input_value() == title
        if i == 11:  # the place is kept
            page.reload()
            page.get_by_text("12 of 20", exact=True).wait_for()
        ranked = visit.ranked(title)
        accepted.append([ranked[1]["label"]] if len(ranked) > 1 else [])
        if i == 3:  # undone when the next row is shown already
            visit.press("j", "a", "n", "u", "p")
            page.get_by_text("3 texts decided").wait_for()
        visit.press("j", "a", "Enter") if accepted[-1] else visit.press("n")
    decided = [i for i, labels in enumerate(accepted) if labels]
    visit.settled(before + len(decided))
    assert visit.sequence == before + len(decided)
    with page.expect_download() as download:
        visit.press("x")
    assert download.value.suggested_filename == "new titles-decided.jsonl"
    lines = [json.loads(line) for line in download.value.path().read_text(encoding="utf-8").splitlines()]
    assert [(line["id"], line["row"], line["text"], line["labels"]) for line in lines] == [
        (i, i + 1, titles[i], accepted[i]) for i in decided
    ]
    page.get_by_role("heading", name="the queue").or_(page.get_by_role("heading", name="All texts")).wait_for()
    visit.press("p")
    page.get_by_text("20 of 20", exact=True).wait_for()


def test_a_hand_quicker_than_the_server_decides_on_the_labels_of_its_text(visit, stage_of_titles, tmp_path):
    page, before = visit.page, visit.sequence
    titles = [text for text, _ in stage_of_titles.rows[200:230]]
    firsts = [(text, labels[0]["label"]) for text in titles if (labels := visit.rank(text))][:5]
    assert len({label for _, label in firsts}) > 2
    file = tmp_path / "quick.txt"
    file.write_text("".join(text + "\n" for text, _ in firsts), encoding="utf-8")
    visit.open("queue")
    page.locator("#file").set_input_files(file)
    page.get_by_text("1 of 5", exact=True).wait_for()
    visit.ranked(firsts[0][0])
    delay_answers(page)
    for _ in firsts:
        visit.press("a", "Enter")
    page.get_by_text("5 texts decided").wait_for()
    visit.settled(before + 5)
    with page.expect_download() as download:
        visit.press("x")
    with download.value.path().open(encoding="utf-8", newline="") as exported:
        lines = list(csv.DictReader(exported, delimiter="\t"))
    assert [(line["text"], line["labels"]) for line in lines] == firsts
