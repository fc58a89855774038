"""Screenshots of docs/web.md and docs/looks.md, taken by a browser.

    python -m docs.making.page    # writes docs/pictures/web-*.png and looks-*.png; needs chromium and playwright

A new server is started in a temporary folder. The synthetic census is used for the whole workflow, the patients where a
picture must be small.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "pictures"
IDLE = "main:not(:has([data-watch])):not(:has([data-start])):not(:has([data-levels]))"
MAX_HEIGHT = 1500
LOOKS = {"desk": (1366, 768, "light"), "dark": (1366, 768, "dark"), "phone": (390, 844, "light")}
"""Sizes of the window, and colours, in docs/looks.md."""
MAIN_STEPS = ("columns", "promise", "attack", "publish")
"""Steps that are also taken in the dark and on a phone."""


def take_pictures() -> None:
    """Start a server, walk through all steps, and save a screenshot of each."""
    from playwright.sync_api import sync_playwright

    browser = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder:
        from shoal.datasets.patients import FOLDER as PATIENTS

        root = Path(folder) / "clinic"
        root.mkdir()
        shutil.copyfile(PATIENTS / "patients.csv", root / "patients-2024.csv")
        command = [sys.executable, "-m", "shoal", "serve", "--root", str(root), "--no-open"]
        own_data = {**os.environ, "XDG_DATA_HOME": folder}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=own_data) as server:
            try:
                assert server.stdout is not None
                found = re.search(r"http\S+", server.stdout.readline())
                assert found is not None
                with sync_playwright() as driver:
                    chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
                    _walk_through(chromium, found[0])
            finally:
                server.terminate()


def _walk_through(chromium: Any, link: str) -> None:
    context = chromium.new_context(viewport={"width": 1360, "height": 860})
    context.set_default_timeout(240_000)
    page = context.new_page()
    page.goto(link)
    _save_screenshot(page, "start")
    page.click("[data-open='patients-2024.csv']")
    page.wait_for_selector("#recipient-form")
    page.check("#recipient-colleagues")
    _save_screenshot(page, "recipient")
    page.click("main > p a")
    page.click("[data-sample=patients]")
    page.wait_for_url("**/columns")
    at = page.url.rpartition("/")[0]
    _settle(page)
    _save_screenshot(page, "columns")
    for name in ("table", "tree", "promise", "review"):
        page.goto(f"{at}/{'hierarchies?column=country' if name == 'tree' else name}")
        _settle(page)
        _save_screenshot(page, name)
    page.goto(f"{at}/hierarchies?column=age")
    _settle(page)
    page.select_option("#kind", "intervals")
    page.fill("#written", "5, 10, 20")
    page.click("#hierarchy-form button.main")
    page.wait_for_selector("#width-0")
    _settle(page)
    _save_screenshot(page, "hierarchies")
    page.click("[data-undo]")
    page.goto(f"{at}/run")
    _settle(page)
    page.click("#release")
    page.wait_for_selector("main table caption")
    _settle(page)
    _save_screenshot(page, "run")
    page.goto(f"{at}/explore")
    page.click("#explore-form button")
    page.wait_for_selector(".lanes .released")
    _save_screenshot(page, "race")
    page.wait_for_selector("main:not(:has([data-lanes]))")
    page.click("[data-run*=minimal]")
    page.wait_for_selector(".lattice")
    _settle(page)
    _save_screenshot(page, "explore", 2200)
    for step in ("compare", "attack", "publish"):
        page.goto(f"{at}/{step}")
        _settle(page)
        if step != "publish":
            _save_screenshot(page, step)
    page.set_viewport_size({"width": 1360, "height": MAX_HEIGHT})  # parts of a frame outside the viewport are not drawn
    page.wait_for_timeout(2000)
    page.screenshot(path=FOLDER / "web-publish.png")
    page.set_viewport_size({"width": 1360, "height": 860})
    page.goto(f"{at}/questions")
    page.fill("#ledger-m", "100000")
    page.click("#ledger-form button")
    page.goto(f"{at}/questions?kind=histogram")
    page.select_option("#question-column", "country")
    page.fill("#question-values", "USA\nCanada\nJapan")
    page.fill("#question-rho", "1/20000")
    page.click("#question-form button")
    page.wait_for_selector("#answer-title")
    _settle(page)
    _save_screenshot(page, "questions")
    page.emulate_media(color_scheme="dark")
    page.goto(f"{at}/compare")
    _settle(page)
    _save_screenshot(page, "dark")
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{at}/promise?lang=de")
    _settle(page)
    _save_screenshot(page, "phone")
    _take_looks(page, at)
    context.close()


def _take_looks(page: Any, at: str) -> None:
    """Take what fits into one window, of every step."""
    from shoal.web.translations import STEPS

    for look, (width, height, scheme) in LOOKS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        for step in STEPS if look == "desk" else MAIN_STEPS:
            page.goto(f"{at}/{step}?lang=en")
            _settle(page)
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=FOLDER / f"looks-{step}-{look}.png")


def _settle(page: Any) -> None:
    page.wait_for_selector(IDLE)
    page.wait_for_timeout(300)
    page.wait_for_selector(IDLE)
    page.wait_for_selector('#sentence:not(:has-text("…"))')


def _save_screenshot(page: Any, name: str, max_height: int = MAX_HEIGHT) -> None:
    page.evaluate("scrollTo(0, 0)")
    size = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
    clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], max_height)}
    page.screenshot(path=FOLDER / f"web-{name}.png", full_page=True, clip=clip)


if __name__ == "__main__":
    take_pictures()
