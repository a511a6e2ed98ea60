"""A real TensorBoard shows what programs log, with no TensorFlow installed.

What its plugins answer is asked over HTTP; the pages themselves are looked at in headless Chromium
(`make browser`), which leaves pictures of them in out/tensorboard.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

PICTURES = Path(os.environ.get("OUT", "out")) / "tensorboard"
PATIENCE = 180  # seconds: a busy machine takes long to start and to draw


# ---- Over HTTP


@pytest.fixture(scope="session")
def ask(board):
    """Provide a function that asks a plugin, as in `ask("scalars/tags", run="run")`."""

    def get(path, **query):
        address = f"{board}data/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            content = answer.read()
        kind = answer.headers.get_content_type()
        return json.loads(content) if kind == "application/json" else content

    return get


def tags(found):
    return sorted(found["run"])


def test_every_plugin_that_has_something_is_active(ask):
    wanted = {"scalars", "images", "audio", "graphs", "distributions", "histograms", "text",
              "pr_curves", "custom_scalars", "hparams", "projector"}  # fmt: skip
    limit = time.monotonic() + PATIENCE
    missing = wanted
    while missing and time.monotonic() < limit:  # the projector looks for itself when first asked
        listing = ask("plugins_listing")
        missing = {name for name in wanted if not listing[name]["enabled"]}
        time.sleep(0.5)
    assert not missing


def test_scalars_histograms_and_distributions(ask):
    points = ask("plugin/scalars/scalars", run="run", tag="loss")
    assert [step for _, step, _ in points] == list(range(10))
    assert all(0 < value < 5 for _, _, value in points)
    assert tags(ask("plugin/histograms/tags")) == ["weights"]
    histograms = ask("plugin/histograms/histograms", run="run", tag="weights")
    assert len(histograms) == 10
    assert sum(count for _, _, count in histograms[0][2]) == 64 * 16
    assert len(ask("plugin/distributions/distributions", run="run", tag="weights")) == 10


def test_images_sounds_and_text(ask):
    assert tags(ask("plugin/images/tags")) == [f"pictures/image/{i}" for i in range(3)]
    (first, *_) = ask("plugin/images/images", run="run", tag="pictures/image/0", sample=0)
    picture = ask(f"plugin/images/individualImage?{first['query']}&")
    assert picture[:4] == b"\x89PNG"
    (sound, *_) = ask("plugin/audio/audio", run="run", tag="sound/audio/0", sample=0)
    assert ask(f"plugin/audio/individualAudio?{sound['query']}&")[:4] == b"RIFF"
    (words, *_) = ask("plugin/text/text", run="run", tag="words")
    assert "<strong>bold words</strong>" in words["text"]


def test_the_graph_and_what_its_nodes_took(ask):
    assert ask("plugin/graphs/info")["run"]["run_graph"]
    graph = ask("plugin/graphs/graph", run="run", conceptual="false", limit_attr_size=1024,
                large_attrs_key="_too_large_attrs").decode()  # fmt: skip
    assert 'name: "layer1/MatMul"' in graph
    metadata = ask("plugin/graphs/run_metadata", run="run", tag="step 10").decode()
    assert 'node_name: "layer1/MatMul"' in metadata


def test_curves_layouts_and_parameters(ask):
    assert list(ask("plugin/pr_curves/tags")["run"]) == ["curve/pr_curves"]
    layout = ask("plugin/custom_scalars/layout")
    assert layout["category"][0]["chart"][0]["title"] == "all losses"


def test_the_projector_reads_the_checkpoint(ask):
    assert ask("plugin/projector/runs") == ["run"]
    (embedding,) = ask("plugin/projector/info", run="run")["embeddings"]
    assert (embedding["tensorName"], embedding["tensorShape"]) == ("embeddings", [20, 5])
    tensor = ask("plugin/projector/tensor", run="run", name="embeddings", num_rows=20)
    assert len(tensor) == 20 * 5 * 4


# ---- In a browser

# What a page has to show: {tab: a locator, how many at least}.
TABS = {
    "scalars": ("tf-scalar-card vz-line-chart2", 1),
    "images": ("tf-image-loader img", 3),
    "audio": ("tf-audio-loader audio", 1),
    "graphs": ('g.node text:has-text("layer1")', 1),
    "distributions": ("tf-distribution-loader vz-distribution-chart", 1),
    "histograms": ("tf-histogram-loader vz-histogram-timeseries", 1),
    "text": ("tf-text-loader strong", 1),
    "pr_curves": ("tf-pr-curve-card vz-line-chart2", 1),
    "custom_scalars": ("text=all losses", 1),
}

_FLAGS = [
    "--no-sandbox", "--no-first-run", "--disable-background-networking", "--disable-quic",
    "--disable-component-update", "--disable-sync",
    # The projector needs WebGL.
    "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
]  # fmt: skip


@pytest.fixture(scope="session")
def page(ask, board):
    """Yield a page of a headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("Chromium is not installed")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with playwright.sync_playwright() as driver:
        with contextlib.closing(driver.chromium.launch(executable_path=path, args=_FLAGS)) as found:
            opened = found.new_page(viewport={"width": 1280, "height": 800})
            opened.set_default_timeout(1000 * PATIENCE)
            yield opened


def show(page, board, tab):
    page.goto("about:blank")
    page.goto(f"{board}#{tab}")


@pytest.mark.browser
@pytest.mark.parametrize("tab", TABS)
def test_a_tab_shows_what_was_logged(page, board, tab):
    what, count = TABS[tab]
    show(page, board, tab)
    page.locator(what).nth(count - 1).wait_for(state="visible")
    page.wait_for_timeout(1000)  # animations
    page.screenshot(path=PICTURES / f"{tab}.png")


@pytest.mark.browser
def test_the_graph_shows_what_nodes_took(page, board):
    show(page, board, "graphs")
    page.locator("g.node").first.wait_for()
    page.locator("tf-graph-controls paper-dropdown-menu").nth(1).click()
    page.locator("text=step 10").first.click()
    page.locator("text=Compute time").first.wait_for(state="visible")
    page.locator("text=Compute time").first.click()
    page.wait_for_timeout(2000)
    page.screenshot(path=PICTURES / "graphs_compute_time.png")


@pytest.mark.browser
def test_the_projector_shows_the_embedding(page, board):
    show(page, board, "projector")
    for _ in range(PATIENCE):
        page.wait_for_timeout(1000)
        inner = [frame for frame in page.frames if "projector_binary" in frame.url]
        if inner and inner[0].locator("text=/Points: 20/").count():
            break
    else:
        pytest.fail("the projector shows no points")
    page.screenshot(path=PICTURES / "projector.png")
