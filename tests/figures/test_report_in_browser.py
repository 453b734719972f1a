"""The page in headless Chromium: it draws, its slider moves, nothing complains or is loaded."""

import dataclasses
from pathlib import Path

import browser
import numpy as np
import pytest

from hcdyna import CartPole
from hcdyna.figures.report import write_report
from hcdyna.runs.record import describe
from hcdyna.runs.store import Store
from hcdyna.settings.plain import settings_to_plain

pytestmark = pytest.mark.skipif(
    browser.DRIVER is None or browser.CHROMIUM is None,
    reason="chromium and chromedriver are not installed (Debian: chromium, chromium-driver)",
)

LEFT = "\ue012"
"""The arrow key, in WebDriver's code."""


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    with browser.chromium(tmp_path_factory.mktemp("profile")) as window:
        window.size(1200, 1600)
        yield window


@pytest.fixture(scope="module")
def balancing(made_up, tmp_path_factory):
    """A run on CartPole with made-up snapshots, the second of them in another place."""
    folder: Path = tmp_path_factory.mktemp("balancing")
    settings = dataclasses.replace(made_up.settings[0], environment=CartPole())
    record = describe([settings_to_plain(settings)], made_up.seeds, "off")
    store = Store.create(folder, record)
    states = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    states[0, 0] = np.nan
    for step, shift in ((50, 0), (100, 5)):
        shot = {"replay": states + shift, "queue": states - shift}
        store.save_snapshot(step, shot)
    return dataclasses.replace(made_up, settings=[settings], folder=folder)


def move(window, control, value, event):
    """Set a control of the page and tell it so."""
    script = "const [id, value, event] = arguments, control = document.getElementById(id);"
    script += "control.value = value; control.dispatchEvent(new Event(event));"
    window.run(script, control, value, event)


def complaints(window):
    return [entry["message"] for entry in window.log() if entry["level"] == "SEVERE"]


def test_the_slider_moves_the_surface_and_what_lies_on_it(window, run, broken, tmp_path):
    page = write_report([run, broken], tmp_path / "page.html", labels=["<b>ours</b>", "theirs"])
    assert page.stat().st_size < 8e6
    window.open(page)
    window.wait("document.querySelector('#panel-0 canvas')")
    traces = "document.getElementById('panel-0').data"
    kinds = window.run(f"return {traces}.map((trace) => trace.type)")
    assert kinds[:4] == ["surface", "scatter3d", "scatter3d", "scatter3d"]
    names = window.run(f"return {traces}.map((trace) => trace.name)")
    assert names[:4] == ["V̂(s)", "replay states", "search-control queue", "climbs on V̂"]
    assert len(window.run(f"return {traces}[0].z")) == 41
    curves = window.run("return document.getElementById('curves-0').data.map((t) => t.meta)")
    assert curves == ["band", "mean", "seeds", "band", "mean", "seeds", "diverged"]

    seen = set()
    heights = f"JSON.stringify([{traces}[0].z, {traces}[1].z])"
    for _ in range(3):
        seen.add(window.run(f"return {heights}"))
        window.press("#slider", LEFT)
    assert len(seen) == 3, "three different surfaces"
    assert window.run("return document.getElementById('step').textContent") == "after 40 steps"
    move(window, "slider", 4, "input")
    assert window.run(f"return {heights}") in seen
    z, dots = window.run(f"return [{traces}[0].z, {traces}[1].z]")
    span = np.max(z) - np.min(z)
    assert np.min(z) <= np.min(dots)
    assert np.max(dots) <= np.max(z) + 0.05 * max(span, 1)

    window.click("#seeds")
    shown = "document.getElementById('curves-0').data[2].visible"
    assert window.run(f"return {shown}") is True
    titles = "[...document.querySelectorAll('h3')].map((heading) => heading.textContent)"
    assert "<b>ours</b>, seed 3" in window.run(f"return {titles}")
    assert complaints(window) == []


def test_nothing_is_loaded_and_nothing_can_be_sent(window, run, tmp_path):
    page = write_report(run, tmp_path / "page.html")
    window.open(page)
    window.wait("document.querySelector('#panel-0 canvas')")
    loaded = window.run(
        "return [...document.querySelectorAll('script[src], link[href], img[src], iframe')].length"
    )
    assert loaded == 0
    requests = window.run("return performance.getEntriesByType('resource').map((e) => e.name)")
    assert [name for name in requests if not name.startswith(("data:", "blob:"))] == []
    buttons = window.run(
        "return [...document.querySelectorAll('.modebar-btn')].map((button) => button.outerHTML)"
    )
    assert any("toImage" in button or "Download" in button for button in buttons)
    assert not any("loud" in button or "Studio" in button for button in buttons)
    refused = window.run(
        """return new Promise((resolve) => {
          addEventListener("securitypolicyviolation", (event) => resolve(event.violatedDirective));
          fetch("https://example.org").catch(() => null);
          setTimeout(() => resolve("nothing"), 5000);
        })"""
    )
    assert refused == "connect-src", "the page's own policy forbids it"
    window.log()


def test_other_dimensions_are_shown_in_the_plane_of_two_variables(window, balancing, tmp_path):
    window.open(write_report(balancing, tmp_path / "page.html"))
    window.wait("document.querySelector('#panel-0 .scatterlayer .point')")
    place = "document.getElementById('panel-0').data[0].x"
    mean = f"return {place}.reduce((a, b) => a + b, 0) / {place}.length"
    assert window.run(mean) == pytest.approx(5, abs=0.5)
    window.press("#slider", LEFT)
    assert window.run(mean) == pytest.approx(0, abs=0.5)
    assert window.run(f"return {place}[0]") is None, "a number that is not finite is a gap"
    move(window, "x-0", 3, "change")
    axis = "document.getElementById('panel-0').layout.xaxis.title.text"
    assert window.run(f"return {axis}") == "angular velocity"
    assert complaints(window) == []


def test_a_page_of_a_run_that_has_only_begun(window, empty, tmp_path):
    window.open(write_report(empty, tmp_path / "page.html"))
    assert "No evaluations yet." in window.run("return document.body.innerText")
    assert complaints(window) == []


BESIDE_THE_PAGE = """
const inside = (box) => box.left >= -1 && box.right <= innerWidth + 1;
return [...document.querySelectorAll("main *")].filter((element) => {
  const box = element.getBoundingClientRect();
  return element.checkVisibility() && box.width > 0 && !inside(box);
}).map((element) => `${element.tagName} ${element.id} ${element.getAttribute("class")}`);
"""
SIDEWAYS = """
return [...document.querySelectorAll(".scroll, section")]
  .filter((element) => element.scrollWidth > element.clientWidth)
  .map((element) => element.innerText);
"""
COVERED = """
const boxes = (chart, kind) =>
  [...chart.querySelectorAll(kind)].map((element) => element.getBoundingClientRect());
return [...document.querySelectorAll(".chart")].filter((chart) => {
  const bars = boxes(chart, ".modebar-group");
  const others = boxes(chart, ".legend, .xtitle, .ytitle, .nsewdrag");
  return bars.some((a) => others.some((b) =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1));
}).map((chart) => chart.id);
"""
CORNERS = """
const plot = document.getElementById("panel-0")._fullLayout.scene._scene.glplot;
const { model, view, projection } = plot.cameraParams;
const axes = [0, 1, 2, 3];
const times = (m, p) => axes.map((i) => axes.reduce((sum, j) => sum + m[4 * j + i] * p[j], 0));
const [low, high] = plot.bounds;
const seen = [];
for (let k = 0; k < 8; k++) {
  const corner = [0, 1, 2].map((i) => ((k >> i) & 1 ? high : low)[i]);
  const [x, y, , w] = times(projection, times(view, times(model, [...corner, 1])));
  seen.push([x / w, y / w]);
}
return seen;
"""
"""Where the corners of the box around a surface are on its canvas, which goes from −1 to 1."""


@pytest.mark.parametrize("width", [400, 1200])
def test_nothing_is_cut_or_covered(window, run, broken, balancing, tmp_path, width):
    window.viewport(width, 900)
    label = "with eta 0.05 and a name that is long"
    page = write_report(
        [run, broken, balancing],
        tmp_path / "page.html",
        labels=[f"HC-Dyna {label}", f"DQN {label}", "CartPole"],
    )
    window.open(page)
    window.wait("document.querySelector('#panel-0 canvas')")
    window.wait("document.querySelector('#panel-1 .scatterlayer .point')")
    assert window.run("return innerWidth") == width
    assert window.run("return document.documentElement.scrollWidth") <= width
    assert window.run("return document.querySelectorAll('.modebar-group').length") > 4
    assert window.run(BESIDE_THE_PAGE) == []
    assert window.run(SIDEWAYS) == []
    assert window.run(COVERED) == []
    corners = np.array(window.run(CORNERS))
    assert corners.shape == (8, 2)
    assert np.abs(corners).max() < 1, "the surface is cut"
    assert np.ptp(corners[:, 0]) > 0.8, "the surface is tiny"
    assert complaints(window) == []
    window.viewport(1200, 1600)
