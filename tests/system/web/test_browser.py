"""The page in a real browser.

The workflow by keyboard alone, on a phone, in the dark, and under an accessibility engine. The browser is Debian's
chromium, driven by Playwright; `scripts/browser` installs it where it can. Nothing here contacts any other host: every
request of a page is counted.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from shoal.web.translations import STEPS
from tests.builders.server import Server

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
AXE = Path(__file__).parents[1] / "browser" / "node_modules" / "axe-core" / "axe.min.js"
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
    """Create a project with a sample and return its name.

    The page is at a step that has nothing left to find out.
    """
    page.goto(address)
    page.click(f"[data-sample={sample}]")
    page.wait_for_url("**/columns")
    if sample != "patients":  # it comes with a plan
        choose_recipient(page)
    page.wait_for_selector(SETTLED + ":not(:has-text('drafts'))")
    project = page.url.split("/")[-2]
    go_to_step(page, step)
    return project


def choose_recipient(page, kind="researchers"):
    """Answer the first question about a table without a plan."""
    page.check(f"#recipient-{kind}")
    page.click("#recipient-form button")
    page.wait_for_selector("#plan-form", state="attached")


def home_of(page):
    """Return the address of the start page."""
    return page.url.partition("/p/")[0].rstrip("/")


def go_to_step(page, step):
    """Open a step of the project and wait until it is idle."""
    if not page.url.endswith(f"/{step}"):
        page.goto(f"{page.url.rpartition('/')[0]}/{step}")
    page.wait_for_selector(IDLE)


def make_release(page):
    """Make a release and wait for it."""
    go_to_step(page, "run")
    page.click("#release")
    page.wait_for_selector("main table caption, main .refusal:visible")
    assert page.locator("main table caption").count() == 1, page.locator("main").inner_text()


def publish(page):
    """Confirm the columns that are published as they are; write the files."""
    if page.locator("#confirm-form").count():
        for box in page.locator("#confirm-form [name=point]").all():
            box.check()
        for field in page.locator("#confirm-form [name=typed]").all():
            label = page.inner_text(f"label[for={field.get_attribute('id')}]")
            field.fill(label.partition(" looks like")[0])
        page.click("#confirm-form button")
    page.click("[data-publish]")
    page.wait_for_selector("#written-places:has-text('certificate')")


@pytest.fixture(scope="module")
def visited(server, chromium):
    """Context of a visitor after the workflow with the patients.

    Yields the context and the project.
    """
    context = chromium.new_context(bypass_csp=True, viewport={"width": 1400, "height": 900})
    context.set_default_timeout(120_000)
    page = context.new_page()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    project = open_sample(page, server.link)
    server.home = home_of(page)
    make_release(page)
    go_to_step(page, "explore")
    page.uncheck("#try-top-down")
    page.uncheck("#try-mondrian")
    page.click("#explore-form button")
    page.wait_for_selector(".scatter")
    for step in ("hierarchies", "compare", "attack"):
        go_to_step(page, step)
    page.close()
    assert faults == []
    assert requests
    assert all(url.startswith(server.address) for url in requests)
    yield context, project
    context.close()


@pytest.mark.skipif(not AXE.is_file(), reason="no accessibility engine: npm ci in tests/system/browser")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_accessibility_violations(server, visited, scheme):
    context, project = visited
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)
    found = {}
    for path in ("/", *(f"/p/{project}/{step}" for step in STEPS)):
        page.goto(server.home + path)
        page.wait_for_selector("main" if path == "/" else f"{IDLE}, main.start")
        page.add_script_tag(path=str(AXE))
        violations = page.evaluate(
            """async () => {
                 const result = await axe.run(document);
                 return result.violations.map((rule) => rule.id + ": " + rule.nodes[0].html.slice(0, 160));
               }"""
        )
        if violations:
            found[path] = violations
    page.close()
    assert found == {}


@pytest.mark.skipif(not AXE.is_file(), reason="no accessibility engine: npm ci in tests/system/browser")
def test_recipient_is_chosen_by_keyboard(server, visited):
    """The first question is accessible, and Tab leads through it."""
    context, _ = visited
    page = context.new_page()
    page.goto(server.home)
    page.click("[data-open='own.csv']")
    page.wait_for_url("**/columns")
    page.add_script_tag(path=str(AXE))
    assert page.evaluate("axe.run(document).then((found) => found.violations.map((rule) => rule.id))") == []
    assert not page.is_visible("#signed")
    press_to(page, "#recipient-public")
    page.keyboard.press("ArrowUp")  # the last of the group
    assert page.is_checked("#recipient-colleagues")
    press_to(page, "#signed", 1)
    page.keyboard.press("Space")
    press_to(page, "#recipient-form button", 1)
    page.keyboard.press("Enter")
    page.wait_for_selector("#plan-form", state="attached")
    wait_for_plan(page, 'kind = "colleagues"\nsigned = true')
    go_to_step(page, "promise")
    page.check("#recipient-public")
    wait_for_plan(page, 'kind = "public"')
    assert "signed" not in page.input_value("#plan-text")
    page.close()


@pytest.mark.skipif(not AXE.is_file(), reason="no accessibility engine: npm ci in tests/system/browser")
def test_ledger_question_and_review_by_keyboard(server, visited):
    """A ledger is created, a question asked, a plan reviewed without a mouse."""
    context, _ = visited
    page = context.new_page()
    open_sample(page, server.home, "questions")
    page.focus("#ledger-m")
    page.keyboard.type("100000")
    press_to(page, "#ledger-form button", 2)
    page.keyboard.press("Enter")
    page.wait_for_selector("#question-form")
    page.select_option("#question-person", "")
    page.select_option("#where-0", "country")
    page.fill("#is-0", "USA")
    press_to(page, "#question-form button", 12)
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer")
    assert page.input_value("#where-0") == "country"  # the form is as it was: a second click asks the same
    assert page.input_value("#is-0") == "USA"
    assert page.locator("main tbody tr").count() == 1
    page.add_script_tag(path=str(AXE))
    assert page.evaluate("axe.run(document).then((found) => found.violations.map((rule) => rule.id))") == []
    for width in (320, 1366):
        page.set_viewport_size({"width": width, "height": 768})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    go_to_step(page, "review")
    page.fill("#reviewer", "A. Reader")
    page.focus("#reviewer")
    page.keyboard.press("Enter")
    page.wait_for_selector("#refusal:has-text('not confirmed')")
    for box in page.locator("[name=confirmed]").all():
        box.focus()
        page.keyboard.press("Space")
    page.focus("#reviewer")
    page.keyboard.press("Enter")
    wait_for_plan(page, 'by = "A. Reader"')
    page.wait_for_selector("main:has-text('Reviewed by A. Reader')")
    page.select_option("[data-option=role][data-column-name=zip]", "sensitive")
    page.wait_for_selector("main:has-text('Changed since the review'), #sentence.warns")
    page.close()


@pytest.mark.parametrize("width", [320, 390])
def test_no_horizontal_overflow_on_a_phone(server, visited, width):
    context, project = visited
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 700})
    wide = {}
    for path in ("/", *(f"/p/{project}/{step}" for step in STEPS)):
        page.goto(server.home + path)
        page.wait_for_selector("main")
        needs = page.evaluate("document.documentElement.scrollWidth")
        if needs > width:
            wide[path] = needs
    page.close()
    assert wide == {}


def open_plan(page):
    """Unfold the text of the plan."""
    if page.get_attribute("#plan-fold", "open") is None:
        page.click("#plan-fold > summary")


def wait_for_plan(page, part):
    """Wait until the plan on the page has this part."""
    page.wait_for_function("(part) => document.getElementById('plan-text').value.includes(part)", arg=part)


def wait_for_hierarchy(page, holds):
    """Wait until the text of a hierarchy is as expected."""
    page.wait_for_function(f"(() => {{ const value = document.getElementById('written').value; return {holds}; }})()")


def press_to(page, selector, presses=80):
    """Press Tab until the focus is on a wanted element."""
    for _ in range(presses):
        page.keyboard.press("Tab")
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
    raise AssertionError(f"Tab does not lead to {selector}")


def test_workflow_by_keyboard_alone(server, chromium):
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
    page.wait_for_selector("#sentence.warns")  # the plan's levels name zip: the sentence warns of it
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


def test_text_and_clicks_edit_one_plan(server, visited):
    context, _ = visited
    page = context.new_page()
    open_sample(page, server.home, "promise")
    page.evaluate(  # a line is lit for a moment only: record it
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
    open_plan(page)
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


def test_reload_during_a_run_and_cancel(tmp_path, chromium):
    from tests.builders.server import slow_project

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


def test_hostile_table_through_the_workflow(server, chromium):
    """Names and values are only displayed, from the file to publishing.

    They are as in the tests of the report.
    """
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
    harmless("recipient")
    choose_recipient(page)
    page.wait_for_selector(SETTLED + ":not(:has-text('drafts'))")
    page.goto(page.url)
    for step in ("table", "columns", "hierarchies", "promise"):
        go_to_step(page, step)
        harmless(step)
    go_to_step(page, "columns")
    if page.locator("[data-column-name='diagnosis <b>'][value=sensitive]:checked").count() == 0:
        page.locator("[data-column-name='diagnosis <b>'][value=sensitive] + label").click()
        page.wait_for_selector("[data-column-name='diagnosis <b>'][value=sensitive]:checked")
    make_release(page)
    harmless("run")
    go_to_step(page, "explore")
    page.click("#explore-form button")
    page.wait_for_selector(".scatter")
    page.wait_for_selector(IDLE)
    page.click("[data-run*=minimal]")
    page.wait_for_selector(".lattice, main table caption:has-text('most detailed')")
    page.wait_for_selector(IDLE)
    harmless("explore")
    for step in ("compare", "attack", "publish"):
        go_to_step(page, step)
        harmless(step)
        assert page.locator("main .refusal:visible").count() == 0, page.locator("main").inner_text()[:500]
    publish(page)
    harmless("published")
    assert faults == []
    context.close()


def test_tree_edited_by_dragging_and_keys_with_undo(server, visited):
    context, _ = visited
    page = context.new_page()
    open_sample(page, server.home)
    go_to_step(page, "hierarchies?column=country")
    page.wait_for_selector("table.levels")
    before = page.input_value("#written")
    canada, asia = "#tree .item[data-name=Canada]", "#tree .item[data-name=Asia]"
    page.locator(canada).drag_to(page.locator(asia))
    wait_for_hierarchy(page, "value.endsWith('Asia\\n  China\\n  Japan\\n  India\\n  Canada')")
    page.click("[data-undo]")
    wait_for_hierarchy(page, f"value === {json.dumps(before)}")
    page.focus(canada)
    page.keyboard.press("Alt+ArrowUp")
    wait_for_hierarchy(page, "value.startsWith('America\\n  Canada\\n  USA')")
    assert page.evaluate("document.activeElement.dataset.name") == "Canada"
    page.locator(canada).drag_to(page.locator(asia))
    page.click("#hierarchy-form button.main")
    wait_for_plan(page, '"India", "Canada"')
    page.wait_for_selector("table.levels li:has-text('Asia 8')")
    page.click("[data-undo]")  # and the plan as it was
    page.wait_for_selector("table.levels li:has-text('Asia 4')")
    page.close()


def test_pseudonym_and_order_by_click(server, visited):
    context, _ = visited
    page = context.new_page()
    open_sample(page, server.home)
    box = page.locator("[data-option=pseudonym][data-column-name=name]")
    box.check()
    wait_for_plan(page, "pseudonym = true")
    wait_for_plan(page, f'pseudonym_key = "{server.data}/shoal/keys/')
    page.wait_for_selector(IDLE)
    assert box.is_checked()
    assert page.locator("#sentence.warns").count() == 0
    box.uncheck()
    page.wait_for_function("!document.getElementById('plan-text').value.includes('pseudonym = true')")
    go_to_step(page, "hierarchies?column=condition")
    page.click("[data-order]")
    page.click("#order-form [type=submit]")
    wait_for_plan(page, 'order = ["')
    page.close()


def test_input_survives_a_refresh_of_the_page(server, visited):
    context, _ = visited
    page = context.new_page()
    project = open_sample(page, server.home, "promise")
    page.focus("#model-0-k")
    page.keyboard.press("Control+A")
    page.keyboard.type("1")
    page.evaluate("import(document.body.dataset.prefix + '/static/swap.js').then((swap) => swap.refresh())")
    page.wait_for_selector(IDLE)
    page.keyboard.type("2")
    assert page.input_value("#model-0-k") in ("12", "21")  # a number field has no cursor position
    assert page.evaluate("document.activeElement.id") == "model-0-k"
    # a concurrent change of another field is merged
    changed = {"changes": [{"set": ["models", 1, "p"], "value": 1}]}
    assert server.ask("PATCH", f"/api/projects/{project}/plan", changed)[0] == 200
    page.evaluate("import(document.body.dataset.prefix + '/static/swap.js').then((swap) => swap.refresh())")
    page.wait_for_selector("#model-1-p[value='1']")
    assert page.input_value("#model-0-k") in ("12", "21")
    page.close()


def test_slider_updates_histogram_and_plan(server, visited):
    context, project = visited
    page = context.new_page()
    page.goto(f"{server.home}/p/{project}/hierarchies?column=age")
    page.wait_for_selector("#bars rect")
    page.wait_for_selector(IDLE)
    page.select_option("#kind", "intervals")
    page.fill("#written", "2, 10")
    page.click("#hierarchy-form button.main")
    page.wait_for_selector("#width-0")
    page.wait_for_selector(IDLE)
    fine = page.locator("#bars rect").count()
    # the bars follow while the slider moves; the plan follows once it is released
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


def test_clicks_on_lattice_and_intruder_change_the_plan(server, visited):
    context, _ = visited
    page = context.new_page()
    open_sample(page, server.home, "explore")
    page.click("[data-run*=minimal]")
    page.wait_for_selector(".lattice")
    page.wait_for_selector(IDLE)
    assert page.locator(".lattice .node").count() == 4 * 3 * 6
    page.locator(".lattice .node.holds").last.click()
    wait_for_plan(page, "levels = {")
    go_to_step(page, "promise")
    page.check("#knows-keys")
    page.wait_for_selector("#key-0-2")
    assert "[[keys]]" in page.input_value("#plan-text")
    page.check("#key-0-2")
    wait_for_plan(page, '"zip"')
    page.check("#knows-few")
    page.wait_for_selector("#known")
    assert page.input_value("#plan-text").count("known = 3") == 2
    page.check("#knows-all")
    page.wait_for_selector("main:not(:has(#known))")
    assert "known" not in page.input_value("#plan-text")
    page.close()


def test_two_tabs_of_one_plan_lose_nothing(server, visited):
    context, _ = visited
    one, other = context.new_page(), context.new_page()
    open_sample(one, server.home, "promise")
    other.goto(one.url)
    other.wait_for_selector(IDLE)
    one.fill("#model-0-k", "3")
    one.press("#model-0-k", "Tab")
    one.wait_for_selector("#model-0-k[value='3']")
    other.fill("#model-1-p", "1")
    other.press("#model-1-p", "Tab")
    other.wait_for_selector("#model-1-p[value='1']")
    assert "k = 3" in other.input_value("#plan-text")  # the other tab's change is not overwritten
    one.close()
    other.close()


def run_workflow(page, address, project):
    """Go from columns to a published release, for any table."""
    page.wait_for_selector(SETTLED + ":not(:has-text('drafts'))")
    page.goto(f"{address}/p/{project}/columns")
    for step in ("table", "columns", "hierarchies", "promise"):
        go_to_step(page, step)
    make_release(page)
    for step in ("compare", "attack", "publish"):
        go_to_step(page, step)
        assert page.locator("main .refusal:visible").count() == 0, page.locator("main").inner_text()[:500]
    publish(page)


def test_workflow_for_adult(tmp_path, shared_data, chromium):
    shutil.copyfile(shared_data / "adult" / "adult-arx.csv", tmp_path / "adult.csv")
    server = Server(tmp_path)
    context = chromium.new_context()
    context.set_default_timeout(180_000)
    try:
        page = context.new_page()
        page.goto(server.link)
        page.click("[data-open='adult.csv']")
        page.wait_for_url("**/columns")
        choose_recipient(page)
        run_workflow(page, home_of(page), "adult")
        assert page.locator(".papers tbody tr").count() == 6
    finally:
        context.close()
        server.stop()


def test_workflow_for_a_wide_table(server, chromium):
    names = [f"column_{n}" for n in range(40)]
    rows = [[str((row * (7 + n) + n * n) % (3 + n % 5)) for n in range(40)] for row in range(300)]
    (server.root / "wide.csv").write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    context = chromium.new_context(viewport={"width": 1300, "height": 800})
    context.set_default_timeout(180_000)
    page = context.new_page()
    page.goto(server.link)
    page.click("[data-open='wide.csv']")
    page.wait_for_url("**/columns")
    choose_recipient(page)
    run_workflow(page, home_of(page), page.url.split("/")[-2])
    page.goto(page.url.rpartition("/")[0] + "/columns")
    page.wait_for_selector(".spark")
    assert page.locator("[data-row]").count() == 40
    assert page.evaluate("document.documentElement.scrollWidth") <= 1300
    context.close()


def test_restart_after_a_kill_during_a_run(tmp_path, chromium):
    import signal

    from tests.builders.server import slow_project

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
        page.click(".files a[href$='/p/big/columns']")
        page.wait_for_url("**/columns")
        page.goto(page.url.replace("/columns", "/run"))
        assert page.locator("main table caption").count() == 0  # nothing half done
        assert 'name = "mdav"' in page.input_value("#plan-text")
        assert page.locator("#release:enabled").count() == 1
    finally:
        context.close()
        again.stop()
