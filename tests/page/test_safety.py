"""Texts of people and files never become markup, and no foreign code runs."""

import json

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.data]
NASTY = [
    '<img src=x onerror="window.pwned=1">',
    "</textarea><script>window.pwned=1</script>",
    "javascript:window.pwned=1",
    "'\"><svg/onload=window.pwned=1>",
    "{{constructor.constructor('window.pwned=1')()}}",
    "\u202eevil\u202c \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "👩‍👩‍👧 naïve 🏳️‍🌈 \U0001f600",
    "\u0000\u0007 control \ufeff",
]


def unharmed(visit):
    assert visit.page.evaluate("window.pwned") is None
    assert visit.page.locator("main img, main script, main iframe, main object, main form[action]").count() == 0


@pytest.mark.parametrize("nasty", NASTY)
def test_texts_labels_and_names_stay_text(visit, nasty):
    page = visit.page
    label, text = f"label {nasty}", f"Strange boats {nasty} of Helsinki"
    visit.post("v1/learn", {"text": text, "added": [label]})
    visit.post("v1/learn", {"text": text + " again", "added": [label + " twin"], "rejected": [label]})
    visit.post("v1/learn", {"text": text, "added": [label]})  # it may have fallen out of the first ten
    visit.type(text)
    assert label in visit.names
    assert page.locator("#text").input_value() == text.replace("\u0000", "\u0000")
    assert page.locator(".marks").text_content().rstrip("\u200b") == text
    place = visit.names.index(label)
    page.locator(".pick").nth(place).click()
    assert page.locator(".why-name").text_content() == label
    visit.press("o")
    page.locator("h1").wait_for()
    page.wait_for_selector(".facts")
    assert page.locator("h1").text_content() == label
    assert text in page.locator(".examples").text_content()
    unharmed(visit)
    # The combobox, the list of labels and a word's page.
    visit.open("labels")
    page.locator("[type=search]").fill("label " + nasty[:6])
    page.wait_for_timeout(150)
    page.goto(f"{visit.address}/#/word?word=" + page.evaluate("encodeURIComponent", nasty))
    page.wait_for_selector("h1")
    page.wait_for_timeout(100)
    unharmed(visit)
    visit.problems[:] = [found for found in visit.problems if "404" not in found and "422" not in found]


def test_a_file_name_and_its_rows_stay_text(visit, tmp_path):
    page = visit.page
    name = "<img src=x onerror='window.pwned=1'>.jsonl"
    visit.open("queue")
    rows = [{"text": nasty} for nasty in NASTY[:6]] + [{"text": "boats " * 2000}]
    content = "".join(json.dumps(row) + "\n" for row in rows)
    page.locator("#file").set_input_files({"name": name, "mimeType": "text/plain", "buffer": content.encode()})
    for i, row in enumerate(rows):
        page.get_by_text(f"{i + 1} of {len(rows)}", exact=True).wait_for()
        assert page.locator("#text").input_value() == row["text"]
        visit.press("n")
    assert page.locator(".file-name").text_content() == name
    unharmed(visit)


def test_ten_thousand_letters(visit):
    page = visit.page
    text = ("Forest fires \U0001f525 and climate change in Finland. " * 230)[:10_000]
    visit.type(text)
    page.locator("mark").nth(100).wait_for(state="attached")  # a long text is marked after its labels are shown
    assert page.locator(".marks").text_content().rstrip("\u200b") == text
    box, card = page.locator(".editor").bounding_box(), page.locator(".text-card").bounding_box()
    assert box["height"] < 400
    assert box["width"] <= card["width"]
    name = "x" * 990
    visit.post("v1/learn", {"text": "A very long name", "added": [name]})
    visit.type("A very long name")
    assert name in visit.names
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#text").fill("y" * 10_000)
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_marks_lie_under_their_words_also_beyond_the_basic_plane(visit):
    text = "\U0001f525\U0001f525 Forest fires \U0001f525 in Finland"
    visit.type(text)
    visit.page.locator(".pick", has_text="forest fires").first.click()
    assert "".join(visit.page.locator("mark").all_text_contents()).startswith("Forest fires")


def test_the_policy_lets_nothing_else_run(visit):
    page = visit.page
    policy = page.context.request.get(visit.address).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    page.evaluate(
        """() => {
            window.broken = [];
            addEventListener('securitypolicyviolation', (event) => window.broken.push(event.effectiveDirective));
            setTimeout(() => { // the policy does not hold for what the debugger evaluates
            const inline = document.createElement('script');
            try { inline.textContent = 'window.pwned = 1'; } catch {}
            document.body.append(inline);
            const image = document.createElement('img');
            image.src = 'https://elsewhere.invalid/x.png';
            document.body.append(image);
            fetch('https://elsewhere.invalid/').catch(() => {});
            document.body.setAttribute('style', 'display: none');
            try { document.body.insertAdjacentHTML('beforeend', '<b>markup</b>'); window.pwned = 2; } catch {}
            try { new Function('window.pwned = 3')(); } catch {}
            });
        }"""
    )
    page.wait_for_timeout(300)
    assert page.evaluate("window.pwned") is None
    broken = set(page.evaluate("window.broken"))
    assert {"img-src", "connect-src", "style-src-attr", "require-trusted-types-for"} <= broken
    assert page.locator("body").is_visible()
    visit.problems.clear()  # the browser tells of each


def test_the_page_asks_nobody_else_and_has_nothing_inline(visit):
    source = visit.page.context.request.get(visit.address).text()
    assert "<style" not in source
    assert " style=" not in source
    assert "onclick" not in source
    assert source.count("<script") == 1
    assert "http://" not in source
    assert "https://" not in source
