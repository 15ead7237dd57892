"""Whole documents on the page: a file button, encodings, addresses, and texts that are too long to be explained."""

import pytest

from tests.documents import docx, paragraph, pdf

pytestmark = [pytest.mark.browser, pytest.mark.data]


def choose(page, name, buffer):
    page.locator("input[type=file]").first.set_input_files({"name": name, "mimeType": "", "buffer": buffer})


@pytest.mark.parametrize(
    ("name", "buffer", "text"),
    [
        ("report.pdf", pdf("Roses in summer"), "Roses in summer"),
        ("letter.docx", docx(paragraph("Roses in winter")), "Roses in winter\n"),
        ("page.html", b"<title>Wooden boats</title><p>of the archipelago", "Wooden boats\nof the archipelago"),
        ("one.txt", "A rose is a rosé\n".encode("cp1252"), "A rose is a rosé\n"),
    ],
)
def test_a_file_is_opened_by_a_button_where_texts_are_tagged(visit, name, buffer, text):
    page = visit.page
    assert page.get_by_text("Open a file", exact=True).is_visible()
    choose(page, name, buffer)
    page.wait_for_function("(text) => document.getElementById('text').value === text", arg=text)
    visit.ranked(text)


def test_an_address_is_not_fetched_and_the_page_says_so(visit):
    page = visit.page
    note = page.locator(".document-note")
    for address in ("https://example.org/report.pdf", " www.example.org/a?b=c \n"):
        page.locator("#text").fill(address)
        note.get_by_text("The server never fetches an address").wait_for()
    page.locator("#text").fill("See https://example.org for the gardens of the north")
    page.wait_for_function("() => !document.querySelector('.document-note').textContent")
    page.locator("#text").fill("https://example.org")
    note.get_by_text("The server never fetches an address").wait_for()
    page.reload()  # the text is kept, and so is the sentence
    note.get_by_text("The server never fetches an address").wait_for()


def test_texts_that_are_too_long_for_an_explanation_are_ranked(visit):
    page = visit.page
    expected = {
        "Wooden boats of the archipelago. " * 2500: "This text is too long for an explanation.",
        "a o " * 16_000: "Score (sum)",
    }
    for text, words in expected.items():
        first = visit.post("v1/rank", {"text": text})["labels"][0]["name"]
        page.locator("#text").fill(text)
        page.wait_for_function("(name) => document.querySelector('.pick')?.textContent === name", arg=first)
        page.locator(".why").get_by_text(words).wait_for()
        assert "too long for the server" not in page.locator("main").text_content()


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "utf-8-sig", "utf-16"])
def test_a_table_in_any_common_encoding_shows_its_letters(visit, encoding):
    page = visit.page
    visit.open("queue")
    choose(page, "fruit.csv", "id,title\n1,Crème brûlée – “naïve”\n2,Äpfel\n".encode(encoding))
    page.get_by_text("1 of 2", exact=True).wait_for()
    assert page.locator("#text").input_value() == "Crème brûlée – “naïve”"
    said = page.locator("#notice")
    if encoding == "cp1252":
        said.get_by_text("fruit.csv is not UTF-8. It was read as Windows-1252").wait_for()
    else:
        assert said.is_hidden()
    page.get_by_role("button", name="Close file").click()
    page.get_by_text("Drop a file here").wait_for()
