"""The page in a real browser: the whole way, by keyboard alone, on a phone, in the dark, under an accessibility engine.

The browser is Debian's chromium, driven by Playwright; `scripts/browser` installs it where it can. Nothing here asks
any other host: every request that a page makes is counted.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.web.conftest import Server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
AXE = Path(__file__).parents[1] / "browser" / "node_modules" / "axe-core" / "axe.min.js"
STEPS = ("table", "columns", "hierarchies", "promise", "run", "explore", "compare", "attack", "publish")
IDLE = "main:not(:has([data-watch])):not(:has([data-start])):not(:has([data-levels]))"
SETTLED = '#sentence:not(:has-text("…"))'

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no browser: needs chromium (scripts/browser installs it as root)"),
    pytest.mark.xdist_group("browser"),
]
sync_api = pytest.importorskip("playwright.sync_api", reason="the page's tests need playwright")


@pytest.fixture(scope="module")
def chromium():
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--proxy-server=127.0.0.1:9"])
        yield browser
        browser.close()


def open_sample(page, address, step="columns", sample="patients"):
    """A new project with a sample, at a step that has nothing left to find out; returns the project's name."""
    page.goto(address)
    page.click(f"[data-sample={sample}]")
    page.wait_for_url("**/columns")
    page.wait_for_selector(SETTLED + ":not(:has-text('drafts'))")
    project = page.url.split("/")[-2]
    at_step(page, step)
    return project


def at_step(page, step):
    """Another step of the project that a page shows, once it has nothing left to find out."""
    if not page.url.endswith(f"/{step}"):
        page.goto(f"{page.url.rpartition('/')[0]}/{step}")
    page.wait_for_selector(IDLE)


def released(page):
    """Make a release and wait for it."""
    at_step(page, "run")
    page.click("#release")
    page.wait_for_selector("main table caption, main .refusal:visible")
    assert page.locator("main table caption").count() == 1, page.locator("main").inner_text()


@pytest.fixture(scope="module")
def visited(server, chromium):
    """One visitor who has gone the whole way with the patients; returns the context and the project."""
    context = chromium.new_context(bypass_csp=True, viewport={"width": 1400, "height": 900})
    context.set_default_timeout(120_000)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    project = open_sample(page, server.link)
    released(page)
    at_step(page, "explore")
    page.uncheck("#try-top-down")
    page.uncheck("#try-mondrian")
    page.click("#explore-form button")
    page.wait_for_selector(".scatter")
    for step in ("hierarchies", "compare", "attack"):
        at_step(page, step)
    page.close()
    assert faults == []
    assert asked
    assert all(url.startswith(server.address) for url in asked)
    yield context, project
    context.close()


@pytest.mark.skipif(not AXE.is_file(), reason="no accessibility engine: npm ci in tests/browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_a_barrier(server, visited, scheme):
    context, project = visited
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)
    found = {}
    for path in ("/", *(f"/p/{project}/{step}" for step in STEPS)):
        page.goto(server.address + path)
        page.wait_for_selector("main" if path == "/" else f"{IDLE}, main.start")
        page.add_script_tag(path=str(AXE))
        told = page.evaluate(
            """async () => {
                 const result = await axe.run(document);
                 return result.violations.map((rule) => rule.id + ": " + rule.nodes[0].html.slice(0, 160));
               }"""
        )
        if told:
            found[path] = told
    page.close()
    assert found == {}


@pytest.mark.parametrize("width", [320, 390])
def test_nothing_sticks_out_on_a_phone(server, visited, width):
    context, project = visited
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 700})
    wide = {}
    for path in ("/", *(f"/p/{project}/{step}" for step in STEPS)):
        page.goto(server.address + path)
        page.wait_for_selector("main")
        needs = page.evaluate("document.documentElement.scrollWidth")
        if needs > width:
            wide[path] = needs
    page.close()
    assert wide == {}


def planned(page, part):
    """Once the plan beside the page has this part."""
    page.wait_for_function("(part) => document.getElementById('plan-text').value.includes(part)", arg=part)


def written(page, holds):
    """Once the text of a hierarchy is as it should be."""
    page.wait_for_function(f"(() => {{ const value = document.getElementById('written').value; return {holds}; }})()")


def press_to(page, selector, most=80):
    """Go on by Tab until the focus is on a wanted element."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
    raise AssertionError(f"Tab does not lead to {selector}")


def test_the_whole_way_goes_by_keyboard_alone(server, chromium):
    context = chromium.new_context(bypass_csp=True)
    context.set_default_timeout(120_000)
    page = context.new_page()
    page.goto(server.link)
    press_to(page, "[data-sample=patients]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/columns")
    page.wait_for_selector(SETTLED)
    page.wait_for_selector(".spark")
    page.wait_for_selector(IDLE)
    press_to(page, "input[data-column-name=zip]")
    page.keyboard.press("o")
    page.wait_for_selector("input[data-column-name=zip][value=other]:checked")
    page.wait_for_selector("#sentence.warns")  # the plan's levels name zip: told where it stands
    assert 'role = "other"' in page.input_value("#plan-text")
    page.keyboard.press("q")
    page.wait_for_selector('input[data-column-name=zip][value="quasi-identifier"]:checked')
    page.wait_for_selector("#sentence:not(.warns)")
    assert "{prefix = true}" in page.input_value("#plan-text").replace("{ ", "{").replace(" }", "}")
    page.wait_for_selector(IDLE)
    press_to(page, "a[href$='/run']", 200)
    page.keyboard.press("Enter")
    page.wait_for_url("**/run")
    page.wait_for_selector(IDLE)
    press_to(page, "#release")
    page.keyboard.press("Enter")
    page.wait_for_selector("main table caption")
    page.wait_for_selector(IDLE)
    press_to(page, "main a[href*='/publish']")
    page.keyboard.press("Enter")
    page.wait_for_url("**/publish*")
    page.wait_for_selector(IDLE)
    press_to(page, "[data-publish]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#written-places:has-text('released.csv')")
    context.close()


def test_text_and_clicks_are_one_plan(server, visited):
    context, _ = visited
    page = context.new_page()
    open_sample(page, server.address, "promise")
    page.evaluate(  # a line is lit for a moment only: whoever comes late must still know of it
        """() => {
             window.seen = [];
             new MutationObserver(() => {
               for (const line of document.querySelectorAll("#plan-shade .lit")) window.seen.push(line.textContent);
             }).observe(document.getElementById("plan-shade"), { childList: true, subtree: true });
           }"""
    )
    page.fill("#model-0-k", "3")
    page.press("#model-0-k", "Tab")
    page.wait_for_function("window.seen.some((line) => line.startsWith('k = 3'))")
    assert "k = 3" in page.input_value("#plan-text")
    page.fill("#plan-text", page.input_value("#plan-text").replace("k = 3", "k = 2"))
    page.click("#plan-form button")
    page.wait_for_selector("#model-0-k[value='2']")
    page.fill("#plan-text", "[source]\npath =\n")
    page.click("#plan-form button")
    page.wait_for_selector("#plan-fault:has-text('not valid TOML')")
    page.wait_for_selector("#plan-shade div:nth-child(2).wrong")
    page.reload()
    assert "k = 2" in page.input_value("#plan-text")
    page.close()


def test_a_reload_in_the_middle_of_a_run_shows_it_and_cancel_ends_it(tmp_path, chromium):
    from tests.web.test_way import slow_project

    slow_project(tmp_path)
    server = Server(tmp_path)
    context = chromium.new_context()
    context.set_default_timeout(60_000)
    try:
        page = context.new_page()
        page.goto(server.link)
        page.click("[data-open='big.toml']")
        page.wait_for_url("**/columns")
        page.goto(page.url.replace("/columns", "/run"))
        page.click("#release")
        page.wait_for_selector("[data-cancel]")
        page.reload()
        page.wait_for_selector("[data-watch] [data-cancel], [data-watch]:has([data-cancel])")
        page.click("[data-cancel]")
        page.wait_for_selector("main:not(:has([data-cancel]))")
        assert not list((tmp_path / "shoal-projects" / "big").glob("releases/*/*.csv"))
    finally:
        context.close()
        server.stop()


EVIL = "<img src=x onerror=document.title=1><script>document.title='harmed'</script>"


def test_names_and_values_of_a_hostile_table_are_only_shown_the_whole_way(server, chromium):
    """Names and values as in the report's tests, from the choice of the file to what is published."""
    rows = "".join(
        f"{20 + n % 5},{EVIL if n % 2 else '=1+1'},{'w' * 400},{('<b>ill</b>', EVIL, '&amp;', chr(0x202E))[n % 4]}\n"
        for n in range(40)
    )
    name = "<img src=x onerror=document.title=1>.csv"
    (server.root / name).write_text(f"age,{EVIL},{'v' * 300},diagnosis <b>\n{rows}", encoding="utf-8")
    context = chromium.new_context(viewport={"width": 1200, "height": 800})
    context.set_default_timeout(120_000)
    page = context.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("dialog", lambda dialog: faults.append(dialog.message))

    def harmless(step):
        assert page.title().endswith("shoal"), step
        assert page.locator("main img, main script, main b, header img, aside img").count() == 0, step
        assert page.evaluate("document.documentElement.scrollWidth") <= 1200, step

    page.goto(server.link)
    harmless("start")
    page.locator("[data-open]", has_text="<img src=x").click()
    page.wait_for_url("**/columns")
    page.wait_for_selector(SETTLED + ":not(:has-text('drafts'))")
    page.goto(page.url)
    for step in ("table", "columns", "hierarchies", "promise"):
        at_step(page, step)
        harmless(step)
    at_step(page, "columns")
    if page.locator("[data-column-name='diagnosis <b>'][value=sensitive]:checked").count() == 0:
        page.locator("[data-column-name='diagnosis <b>'][value=sensitive] + label").click()
        page.wait_for_selector("[data-column-name='diagnosis <b>'][value=sensitive]:checked")
    released(page)
    harmless("run")
    at_step(page, "explore")
    page.click("#explore-form button")
    page.wait_for_selector(".scatter")
    page.wait_for_selector(IDLE)
    page.click("[data-run*=minimal]")
    page.wait_for_selector(".lattice, main table caption:has-text('finest')")
    page.wait_for_selector(IDLE)
    harmless("explore")
    for step in ("compare", "attack", "publish"):
        at_step(page, step)
        harmless(step)
        assert page.locator("main .refusal:visible").count() == 0, page.locator("main").inner_text()[:500]
    page.click("[data-publish]")
    page.wait_for_selector("#written-places:has-text('certificate')")
    harmless("published")
    assert faults == []
    context.close()


def test_a_tree_is_edited_by_dragging_and_by_keys_with_an_undo(server, visited):
    context, _ = visited
    page = context.new_page()
    open_sample(page, server.address)
    at_step(page, "hierarchies?column=country")
    page.wait_for_selector("table.levels")
    before = page.input_value("#written")
    canada, asia = "#tree .item[data-name=Canada]", "#tree .item[data-name=Asia]"
    page.locator(canada).drag_to(page.locator(asia))
    written(page, "value.endsWith('Asia\\n  China\\n  Japan\\n  India\\n  Canada')")
    page.click("[data-undo]")
    written(page, f"value === {json.dumps(before)}")
    page.focus(canada)
    page.keyboard.press("Alt+ArrowUp")
    written(page, "value.startsWith('America\\n  Canada\\n  USA')")
    assert page.evaluate("document.activeElement.dataset.name") == "Canada"
    page.locator(canada).drag_to(page.locator(asia))
    page.click("#hierarchy-form button.main")
    planned(page, '"India", "Canada"')
    page.wait_for_selector("table.levels li:has-text('Asia 8')")
    page.click("[data-undo]")  # and the plan as it was
    page.wait_for_selector("table.levels li:has-text('Asia 4')")
    page.close()


def test_a_pseudonym_and_an_order_are_clicks(server, visited):
    context, _ = visited
    page = context.new_page()
    open_sample(page, server.address)
    box = page.locator("[data-option=pseudonym][data-column-name=name]")
    box.check()
    planned(page, "pseudonym = true")
    planned(page, 'pseudonym_key = "keys/pseudonyms"')
    page.wait_for_selector(IDLE)
    assert box.is_checked()
    assert page.locator("#sentence.warns").count() == 0
    box.uncheck()
    page.wait_for_function("!document.getElementById('plan-text').value.includes('pseudonym = true')")
    at_step(page, "hierarchies?column=condition")
    page.click("[data-order]")
    page.click("#order-form [type=submit]")
    planned(page, 'order = ["')
    page.close()


def test_what_is_being_written_stays_while_the_page_is_put_in_anew(server, visited):
    context, _ = visited
    page = context.new_page()
    project = open_sample(page, server.address, "promise")
    page.focus("#model-0-k")
    page.keyboard.press("Control+A")
    page.keyboard.type("1")
    page.evaluate("import('/static/swap.js').then((swap) => swap.refresh())")
    page.wait_for_selector(IDLE)
    page.keyboard.type("2")
    assert page.input_value("#model-0-k") in ("12", "21")  # a number field does not tell where one writes
    assert page.evaluate("document.activeElement.id") == "model-0-k"
    # what another has changed meanwhile comes in beside it
    changed = {"changes": [{"set": ["models", 1, "p"], "value": 1}]}
    cookie = "; ".join(f"{one['name']}={one['value']}" for one in context.cookies())
    assert server.ask("PATCH", f"/api/projects/{project}/plan", changed, cookie=cookie, Origin=server.address)[0] == 200
    page.evaluate("import('/static/swap.js').then((swap) => swap.refresh())")
    page.wait_for_selector("#model-1-p[value='1']")
    assert page.input_value("#model-0-k") in ("12", "21")
    page.close()


def test_a_slider_draws_the_histogram_anew_and_changes_the_plan(server, visited):
    context, project = visited
    page = context.new_page()
    page.goto(f"{server.address}/p/{project}/hierarchies?column=age")
    page.wait_for_selector("#bars rect")
    page.wait_for_selector(IDLE)
    page.select_option("#kind", "intervals")
    page.fill("#written", "2, 10")
    page.click("#hierarchy-form button.main")
    page.wait_for_selector("#width-0")
    page.wait_for_selector(IDLE)
    fine = page.locator("#bars rect").count()
    # while it moves, the bars follow; the plan follows when it is let go
    page.evaluate(
        "(slider) => { slider.value = slider.max; slider.dispatchEvent(new Event('input', { bubbles: true })); }",
        page.query_selector("#width-0"),
    )
    assert page.locator("#bars rect").count() < fine
    assert "intervals = [2, 10]" in page.input_value("#plan-text")
    page.focus("#width-0")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("!document.getElementById('plan-text').value.includes('[2, 10]')")
    page.close()


def test_a_click_on_the_lattice_and_on_what_an_intruder_knows_is_the_plan(server, visited):
    context, _ = visited
    page = context.new_page()
    open_sample(page, server.address, "explore")
    page.click("[data-run*=minimal]")
    page.wait_for_selector(".lattice")
    page.wait_for_selector(IDLE)
    assert page.locator(".lattice .node").count() == 4 * 3 * 6
    page.locator(".lattice .node.holds").last.click()
    planned(page, "levels = {")
    at_step(page, "promise")
    page.check("#knows-keys")
    page.wait_for_selector("#key-0-2")
    assert "[[keys]]" in page.input_value("#plan-text")
    page.check("#key-0-2")
    planned(page, '"zip"')
    page.check("#knows-few")
    page.wait_for_selector("#known")
    assert page.input_value("#plan-text").count("known = 3") == 2
    page.check("#knows-all")
    page.wait_for_selector("main:not(:has(#known))")
    assert "known" not in page.input_value("#plan-text")
    page.close()


def test_two_tabs_of_one_plan_see_the_same_and_lose_nothing(server, visited):
    context, _ = visited
    one, other = context.new_page(), context.new_page()
    open_sample(one, server.address, "promise")
    other.goto(one.url)
    other.wait_for_selector(IDLE)
    one.fill("#model-0-k", "3")
    one.press("#model-0-k", "Tab")
    one.wait_for_selector("#model-0-k[value='3']")
    other.fill("#model-1-p", "1")
    other.press("#model-1-p", "Tab")
    other.wait_for_selector("#model-1-p[value='1']")
    assert "k = 3" in other.input_value("#plan-text")  # the other tab's change is not written over
    one.close()
    other.close()


def go_the_way(page, address, project):
    """From columns to a published release; whatever the table is."""
    page.wait_for_selector(SETTLED + ":not(:has-text('drafts'))")
    page.goto(f"{address}/p/{project}/columns")
    for step in ("table", "columns", "hierarchies", "promise"):
        at_step(page, step)
    released(page)
    for step in ("compare", "attack", "publish"):
        at_step(page, step)
        assert page.locator("main .refusal:visible").count() == 0, page.locator("main").inner_text()[:500]
    page.click("[data-publish]")
    page.wait_for_selector("#written-places:has-text('certificate')")


def test_the_whole_way_for_adult(tmp_path, shared_data, chromium):
    shutil.copyfile(shared_data / "adult" / "adult-arx.csv", tmp_path / "adult.csv")
    server = Server(tmp_path)
    context = chromium.new_context()
    context.set_default_timeout(180_000)
    try:
        page = context.new_page()
        page.goto(server.link)
        page.click("[data-open='adult.csv']")
        page.wait_for_url("**/columns")
        go_the_way(page, server.address, "adult")
        assert page.locator(".papers tbody tr").count() == 5
    finally:
        context.close()
        server.stop()


def test_the_whole_way_for_a_wide_table(server, chromium):
    names = [f"column_{n}" for n in range(40)]
    rows = [[str((row * (7 + n) + n * n) % (3 + n % 5)) for n in range(40)] for row in range(300)]
    (server.root / "wide.csv").write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    context = chromium.new_context(viewport={"width": 1300, "height": 800})
    context.set_default_timeout(180_000)
    page = context.new_page()
    page.goto(server.link)
    page.click("[data-open='wide.csv']")
    page.wait_for_url("**/columns")
    go_the_way(page, server.address, page.url.split("/")[-2])
    page.goto(page.url.rpartition("/")[0] + "/columns")
    page.wait_for_selector(".spark")
    assert page.locator("[data-row]").count() == 40
    assert page.evaluate("document.documentElement.scrollWidth") <= 1300
    context.close()


def test_a_server_that_was_killed_in_a_run_is_started_again_and_goes_on(tmp_path, chromium):
    import signal

    from tests.web.test_way import slow_project

    slow_project(tmp_path)
    server = Server(tmp_path)
    context = chromium.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(server.link)
    page.click("[data-open='big.toml']")
    page.wait_for_url("**/columns")
    page.goto(page.url.replace("/columns", "/run"))
    page.click("#release")
    page.wait_for_selector("[data-cancel]")
    server.stop(signal.SIGKILL)
    again = Server(tmp_path)
    try:
        page.goto(again.link)
        page.click(".files a[href='/p/big/columns']")
        page.wait_for_url("**/columns")
        page.goto(page.url.replace("/columns", "/run"))
        assert page.locator("main table caption").count() == 0  # nothing half done
        assert 'name = "mdav"' in page.input_value("#plan-text")
        assert page.locator("#release:enabled").count() == 1
    finally:
        context.close()
        again.stop()
