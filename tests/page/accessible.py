"""What axe-core finds on the page, what is too small or covered, and the windows in which it is looked for."""

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

AXE = "4.14.0"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
# A window of 1,200 by 800 pixels has this size at 200% and 400% zoom.
WINDOWS = {
    "light": {"screen": "light"},
    "dark": {"screen": "dark"},
    "phone": {"screen": "phone"},
    "200%": {"screen": "double"},
    "400%": {"screen": "fourfold"},
    "forced colours": {"screen": "light", "forced_colors": "active"},
}


def windows(*in_ci, others=tuple(WINDOWS)):
    """Return windows as parameters: those of CI, and others, which are slow."""
    return [*in_ci, *(pytest.param(name, marks=pytest.mark.slow) for name in others if name not in in_ci)]


# Targets of less than 24 by 24 pixels; links within a sentence may be smaller.
SMALL = """() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [role=option]')]
    .filter((found) => found.checkVisibility({ visibilityProperty: true }) && !found.closest('.unseen'))
    .filter((found) => getComputedStyle(found).display !== 'inline')
    .map((found) => [found.outerHTML.slice(0, 150), found.getBoundingClientRect()])
    .filter(([, box]) => box.width > 1 && (box.width < 23.9 || box.height < 23.9))
    .map(([html, box]) => `${html} ${box.width} x ${box.height}`)"""
# Whether something else lies over each part of the focused element, or it is outside of the window.
COVERED = """() => {
    const active = document.activeElement;
    if (active === document.body) return false;
    const label = active.closest('label') ?? (active.type === 'file' ? active.labels[0] : null);
    const focused = label ?? active; // a file button is the label of an input that is not seen
    const middle = (from, to, most) => (Math.max(from, 0) + Math.min(to, most)) / 2;
    return ![...focused.getClientRects()].some((box) => focused.contains(document.elementFromPoint(
        middle(box.left, box.right, innerWidth), middle(box.top, box.bottom, innerHeight))));
}"""
FOCUSED = """() => {
    const element = document.activeElement;
    return element === document.body ? '' : `${element.tagName} ${element.id || element.getAttribute('aria-label') || element.textContent.trim()}`;
}"""  # noqa: E501


def script():
    """Return axe-core's script, which is fetched once from npm."""
    kept = Path(".cache") / f"axe-core-{AXE}.js"
    if not kept.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("no npm to fetch axe-core with")
        kept.parent.mkdir(exist_ok=True)
        command = [npm, "pack", f"axe-core@{AXE}", "--silent", "--pack-destination", str(kept.parent)]
        found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if found.returncode != 0:
            pytest.skip(f"npm cannot fetch axe-core: {found.stderr.strip()[-200:]}")
        packed = kept.parent / f"axe-core-{AXE}.tgz"
        with tarfile.open(packed) as archive:
            member = archive.extractfile("package/axe.min.js")
            assert member is not None
            kept.write_bytes(member.read())
        packed.unlink()
    return kept.read_text(encoding="utf-8")


def wrong(page, axe):
    """Return what axe finds by the rules of WCAG 2.2 AA and by good practice."""
    page.evaluate(axe)
    # The bar lies over what can be scrolled away from it; axe takes a target of which a part is below it as too small.
    page.evaluate("() => { document.getElementById('pending').style.position = 'static'; }")
    options = {"resultTypes": ["violations"], "runOnly": {"type": "tag", "values": TAGS}}
    found = page.evaluate("(options) => axe.run(document, options)", options)
    page.evaluate("() => { document.getElementById('pending').style.position = ''; }")
    return [
        (rule["id"], rule["impact"], [(node["html"][:200], node["failureSummary"]) for node in rule["nodes"]][:3])
        for rule in found["violations"]
    ]


def faults(page, axe):
    """Return what is wrong with the page as it is: for axe-core, wider than the window, or a target too small."""
    is_wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    return wrong(page, axe) + ["wider than the window"] * is_wide + page.evaluate(SMALL)
