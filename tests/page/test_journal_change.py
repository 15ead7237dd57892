"""A page that is open while its server gets another journal continues with that one."""

import pytest

from abound import Tagger
from benchmarks.page import stage
from tests.page.conftest import Visit
from tests.page.test_modules import run

pytestmark = pytest.mark.browser


def learn(visit, text, label):
    """Teach through the page's own module; return the sequence."""
    batch = {"id": f"key of {text}", "text": text, "accepted": [], "rejected": [], "added": [label]}
    return run(visit, "api", "learn", batch)["sequence"]


def test_the_page_continues_with_another_home(tmp_path, browser):
    model = tmp_path / "model"
    Tagger().fit(["a red apple", "a fast car"], [["fruit"], ["vehicle"]]).save(model)
    with stage.Server(model, "--state", str(tmp_path / "one")) as server:
        page = browser.new_page()
        visit = Visit(page, server.address)
        visit.open()
        assert [learn(visit, f"text {number}", "new") for number in range(3)] == [1, 2, 3]
    port = server.address.rpartition(":")[2]
    with stage.Server(model, "--state", str(tmp_path / "two"), "--port", port):
        assert learn(visit, "another text", "new") == 1
        visit.page.wait_for_function("() => document.getElementById('notice').textContent.includes('another model')")
        visit.page.wait_for_function("() => document.getElementById('foot').textContent.includes('revision 1')")
        assert learn(visit, "one more text", "new") == 2
        assert [one["source"] for one in visit.get("v1/records")["records"]] == ["page", "page"]
    page.close()
