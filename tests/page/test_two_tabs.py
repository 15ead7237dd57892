"""Two tabs of one browser on the same queue: neither loses a decision of the other."""

import pytest

from tests.page.test_queue import TABLE, TITLES, at, choose, export

pytestmark = [pytest.mark.browser, pytest.mark.data]


def both_tabs(visit):
    """Open the same file in two tabs."""
    visit.open("queue")
    choose(visit.page, "essays.csv", TABLE)
    at(visit, 1)
    other = visit.page.context.new_page()
    other.goto(f"{visit.address}/#/queue")
    other.get_by_text("1 of 5", exact=True).wait_for()
    return visit.page, other


def test_two_tabs_do_not_overwrite_each_other(visit):
    one, two = both_tabs(visit)
    two.keyboard.press("n")
    two.get_by_text("2 of 5", exact=True).wait_for()
    visit.press("z")  # both had read the same decisions before
    at(visit, 2)
    two.keyboard.press("z")
    two.get_by_text("2 texts decided").wait_for()
    one.get_by_text("2 texts decided").wait_for()
    one.get_by_text("This text was marked “none fits” in another tab.").wait_for()
    for page in (one, two):
        page.reload()
        page.get_by_text("2 texts decided").wait_for()
    _, content = export(visit)
    assert [title in content for title in TITLES] == [True, True, False, False, False]


def test_what_is_accepted_in_two_tabs_is_kept(visit):
    one, two = both_tabs(visit)
    two.keyboard.press("n")
    two.get_by_text("2 of 5", exact=True).wait_for()
    for page in (one, two):
        page.keyboard.press("a")
        page.keyboard.press("Enter")
        page.locator(".queue-bar", has_text="decided").wait_for()
    for page in (one, two):
        page.get_by_text("2 texts decided").wait_for()
    one.reload()
    one.get_by_text("2 texts decided").wait_for()


def test_a_file_that_is_closed_in_one_tab_is_closed_in_the_other(visit):
    one, two = both_tabs(visit)
    one.get_by_role("button", name="Close file").click()
    one.get_by_text("Drop a file here").wait_for()
    two.get_by_text("The file was closed or replaced in another tab.").wait_for()
    two.get_by_text("Drop a file here").wait_for()
