"""The report in an HTML validator, an accessibility engine and a browser.

`make test` installs the checkers if npm is available; the browser is Debian's chromium. Without them these tests are
skipped. tests/integration/test_report.py checks contrast and structure without any of them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import shoal
from shoal.datasets.patients import FOLDER
from shoal.render import Grid
from shoal.report.scatter import Point, exploration_page
from tests.builders.plans import write_plan

HERE = Path(__file__).parent
CHECKERS = HERE / "node_modules"
NODE = shutil.which("node")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

needs_checkers = pytest.mark.skipif(
    NODE is None or not (CHECKERS / "html-validate").is_dir(),
    reason="the HTML validator is not installed: needs node, and npm ci in tests/system/browser",
)
needs_browser = pytest.mark.skipif(
    CHROMIUM is None or not (CHECKERS / "axe-core").is_dir(),
    reason="no browser or no accessibility engine: needs chromium, and npm ci in tests/system/browser",
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The reports of the demo and of a table with hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copyfile(FOLDER / "patients.csv", folder / "patients.csv")
    shutil.copyfile(FOLDER / "patients.toml", folder / "patients.toml")
    shoal.release(folder / "patients.toml")
    evil = "<script>document.title='harmed'</script>"
    rows = "".join(f"{20 + n % 3},{evil},{'w' * 400},שלום\n" for n in range(12))
    write_plan(
        folder,
        table=f"age,{evil},{'w' * 300},\u202eevil\n{rows}",
        columns={
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5]}},
            evil: "sensitive",
            "w" * 300: "quasi-identifier",
            "\u202eevil": "other",
        },
        models="k-anonymity k=3",
        source="evil.csv",
        output="evil-released.csv",
        name="evil",
    )
    shoal.release(folder / "evil.toml")
    points = [
        Point("one", 0.2, 0.1, True, True),
        Point("two", 0.1, 0.3, True, False),
        Point("3", 0.2, 0.3, False, False),
    ]
    rows = [("one", "k = 5", 0.1), (evil, "w" * 400, 0.3)]
    page = exploration_page(points, "ncp", Grid("", ("method", "parameters", "loss"), rows), "k-anonymity(k=5)")
    (folder / "explore.html").write_text(page, encoding="utf-8")
    return {
        "demo": folder / "released.report.html",
        "evil": folder / "evil-released.report.html",
        "explore": folder / "explore.html",
    }


@needs_checkers
def test_valid_and_accessible(pages, tmp_path):
    broken = tmp_path / "broken.html"
    broken.write_text("<!DOCTYPE html><html><head></head><body><p>x<table></p><img src=x></body></html>")
    listed = [*map(str, pages.values()), str(broken)]
    done = subprocess.run(
        [NODE, HERE / "check.cjs", *listed], capture_output=True, text=True, timeout=300, check=True, cwd=HERE
    )
    faults = json.loads(done.stdout)
    assert len(faults.pop(str(broken))) > 3  # the checkers find faults
    assert faults == {str(path): [] for path in pages.values()}


def browse(html: str, folder: Path, *flags: str) -> str:
    """Return the document after the scripts of a page have run."""
    page = folder / "page.html"
    page.write_text(html, encoding="utf-8")
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         f"--user-data-dir={folder / 'profile'}", "--proxy-server=127.0.0.1:9", "--virtual-time-budget=20000",
         "--timeout=60000", *flags, "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    return done.stdout


def result_of(document: str) -> dict[str, object]:
    found = re.search(r'<pre id="result">(.*?)</pre>', document, re.DOTALL)
    assert found, "the page did not come to its end"
    import html

    answer = json.loads(html.unescape(found.group(1)))
    assert isinstance(answer, dict)
    return answer


@needs_browser
@pytest.mark.parametrize("scheme", [0, 1], ids=["dark", "light"])
@pytest.mark.parametrize("name", ["demo", "explore"])
def test_colours_in_a_browser(pages, tmp_path, name, scheme):
    """Apply the engine's rules, contrast among them, to the rendered page.

    The page's content security policy is removed first, because it would block the engine's script.
    """
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", pages[name].read_text(encoding="utf-8"))
    engine = (CHECKERS / "axe-core" / "axe.min.js").read_text(encoding="utf-8").replace("</script", "<\\/script")
    run = """
      axe.run(document).then((result) => {
        const place = document.createElement("pre");
        place.id = "result";
        place.textContent = JSON.stringify({
          dark: matchMedia("(prefers-color-scheme: dark)").matches,
          passed: result.passes.map((rule) => rule.id),
          faults: result.violations.map((rule) => rule.id + ": " + rule.nodes[0].html),
        });
        document.body.append(place);
      });"""
    document = browse(
        page.replace("</body>", f"<script>{engine}</script><script>{run}</script></body>"),
        tmp_path,
        f"--blink-settings=preferredColorScheme={scheme}",
    )
    answer = result_of(document)
    assert answer["dark"] == (scheme == 0)
    assert answer["faults"] == []
    assert "color-contrast" in answer["passed"]


@needs_browser
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_layout_fits_the_width_and_no_script_runs(pages, tmp_path, width):
    """The unchanged page in frames of a phone's and a desktop's width.

    No element is wider than the frame, no cell or figure is cut, and no script of the page runs.
    """
    for name, path in pages.items():
        content = json.dumps(path.read_text(encoding="utf-8")).replace("</", "<\\/")
        wrapper = f"""<!DOCTYPE html><html><body><script>
          const frame = document.createElement("iframe");
          frame.width = {width};
          frame.height = 600;
          frame.onload = () => {{
            const inner = frame.contentDocument;
            const place = document.createElement("pre");
            place.id = "result";
            place.textContent = JSON.stringify({{
              title: inner.title,
              width: inner.documentElement.scrollWidth,
              sections: inner.querySelectorAll("h2").length,
              scripts: inner.scripts.length,
              // a head out of sight, as on a phone, is read by a screen reader only
              cut: [...inner.querySelectorAll("th, td")].filter((cell) =>
                cell.scrollWidth > cell.clientWidth && cell.getBoundingClientRect().right > 0 &&
                !cell.closest(".wide")).map((cell) => cell.textContent.slice(0, 80)),
              broken: [...inner.querySelectorAll(".figure")].filter((figure) =>
                figure.getClientRects().length > 1).map((figure) => figure.textContent),
            }});
            document.body.append(place);
          }};
          frame.srcdoc = {content};
          document.body.append(frame);
        </script></body></html>"""
        answer = result_of(browse(wrapper, tmp_path))
        assert answer["title"].startswith(("Release report", "Methods and parameters")), name
        assert answer["width"] <= width, name
        assert answer["scripts"] == 0, name
        assert answer["cut"] == answer["broken"] == [], name
        assert answer["sections"] >= 2, name
