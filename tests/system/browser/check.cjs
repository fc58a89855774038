// Validates HTML files and runs the accessibility engine on them; prints the faults as one JSON object.
// usage: node check.cjs FILE...
const { readFileSync } = require("node:fs");
const axe = require("axe-core");
const { HtmlValidate } = require("html-validate");
const { JSDOM, VirtualConsole } = require("jsdom");

const validator = new HtmlValidate({
  root: true,
  extends: ["html-validate:standard", "html-validate:a11y", "html-validate:document"],
});

async function accessibility(html) {
  // no script of the page is run: only the engine's own
  const page = new JSDOM(html, { runScripts: "outside-only", virtualConsole: new VirtualConsole() });
  page.window.eval(axe.source);
  // colours need a real browser, see test_browser.py
  const result = await page.window.axe.run(page.window.document, { rules: { "color-contrast": { enabled: false } } });
  return result.violations.map((fault) => `${fault.id}: ${fault.help} (${fault.nodes[0].html.slice(0, 200)})`);
}

async function main() {
  const faults = {};
  for (const file of process.argv.slice(2)) {
    const html = readFileSync(file, "utf-8");
    const report = await validator.validateString(html);
    const invalid = report.results.flatMap((result) =>
      result.messages.map((message) => `${message.ruleId}: ${message.message} (line ${message.line})`),
    );
    faults[file] = [...invalid, ...(await accessibility(html))];
  }
  console.log(JSON.stringify(faults));
}

main();
