// The page's behaviour: a click is a change of the plan or a run, asked of the API; then the new page is put in.
import * as bins from "./bins.js";
import { call, here, prefix, project } from "./calls.js";
import * as plan from "./plan.js";
import * as questions from "./questions.js";
import { outdate, refresh, refuse } from "./swap.js";
import * as tree from "./tree.js";
import { followAll, start } from "./watch.js";

const asked = new Set();
let known = null;

async function change(changes) {
  try {
    refuse("");
    outdate();
    const told = await call("PATCH", here("/plan"), { changes });
    plan.clean();
    await refresh();
    if (told.error) refuse(told.error);
  } catch (error) {
    await refresh();
    refuse(error.message);
  }
}

async function write(text) {
  try {
    const told = await call("PUT", here("/plan"), text, "text/plain");
    plan.clean();
    await refresh();
    if (told.error && told.line) plan.toLine(told.line);
  } catch (error) {
    plan.told(error.message, error.line);
  }
}

async function open(method, path, body, type) {
  try {
    refuse("");
    const told = await call(method, path, body, type);
    location.href = `${prefix}/p/${encodeURIComponent(told.project)}/columns`;
  } catch (error) {
    refuse(error.message);
  }
}

const typed = (field) => (field.type === "checkbox" ? field.checked || null : field.value === "" ? null : field.type === "number" ? Number(field.value) : field.value);

document.addEventListener("click", async (event) => {
  const line = event.target.closest("[data-to-line]");
  if (line) {
    event.preventDefault();
    plan.toLine(Number(line.dataset.toLine));
  }
  const button = event.target.closest("button, svg [data-changes]");
  if (!button) return;
  const data = button.dataset;
  if (data.sample) await open("POST", `${prefix}/api/projects`, { sample: data.sample, draft: false });
  else if (data.open) await open("POST", `${prefix}/api/projects`, { path: data.open, draft: false });
  else if (data.run) await start(JSON.parse(data.run));
  else if (data.cancel) await call("DELETE", here(`/runs/${encodeURIComponent(data.cancel)}`)).then(refresh);
  else if (data.changes) await change(JSON.parse(data.changes));
  else if ("remove" in data) await change([{ set: JSON.parse(data.set), value: null }]);
  else if (data.order) {
    const field = document.getElementById("order");
    field.value = JSON.parse(data.order).join("\n");
    field.dataset.dirty = "yes";
  }
  else if (data.removeRelease) {
    if (window.confirm(data.sure)) await call("DELETE", here(`/releases/${data.removeRelease}`)).then(refresh, (error) => refuse(error.message));
  }
  else if (data.class) tree.add(data.class, button);
  else if (data.level) bins.level(data.level);
  else if ("undo" in data) {
    if (tree.undo()) return;
    outdate();
    await call("POST", here("/undo")).then(() => plan.clean(), (error) => refuse(error.message));
    await refresh();
  }
  else if (data.publish) {
    try {
      const overwrite = document.getElementById("overwrite").checked;
      const told = await call("POST", here(`/releases/${data.publish}/publish`), { overwrite });
      document.getElementById("written-places").textContent = told.written.join(", ");
      refuse("");
    } catch (error) {
      refuse(error.message);
    }
  }
});

document.addEventListener("change", async (event) => {
  const field = event.target;
  if (field.matches("input[data-set], [data-known]")) delete field.dataset.dirty;
  if (field.matches("[data-column-name][type=radio]")) {
    await change([{ column: field.dataset.columnName, role: field.value }]);
  } else if (field.matches("[data-option]")) {
    const value = field.type === "checkbox" ? field.checked : field.value;
    await change([{ column: field.dataset.columnName, [field.dataset.option]: value }]);
  } else if (field.matches("input[data-set], select[data-set]")) {
    await change([{ set: JSON.parse(field.dataset.set), value: typed(field) }]);
  } else if (field.matches("input[type=radio][data-changes]")) {
    await change(JSON.parse(field.dataset.changes));
  } else if (field.matches("[data-known]")) {
    const value = typed(field);
    await change(JSON.parse(field.dataset.known).map((place) => ({ set: ["models", place, "known"], value })));
  } else if (field.matches("[data-key-set]")) {
    const place = Number(field.dataset.keySet);
    const value = [...document.querySelectorAll(`[data-key-set="${place}"]:checked`)].map((box) => box.value);
    await change([{ set: ["keys", place, "columns"], value }]);
  } else if (field.matches("[data-width]")) {
    bins.slide(field, true);
  } else if (field.id === "bars-level") {
    field.dataset.dirty = "yes";
    bins.draw(JSON.parse(document.getElementById("bars").dataset.widths)[Number(field.value)] || 0);
  } else if (field.id === "kind") {
    kind(field.value);
  } else if (field.matches("[data-method]") && field.value) {
    const section = field.selectedOptions[0].dataset.section;
    await change([{ set: ["method"], value: section ? JSON.parse(section) : { name: field.value } }]);
  } else if (field.matches("[data-choice]") && field.value) {
    await change(JSON.parse(field.value));
  } else if (field.matches("[data-mask]")) {
    document.getElementById(field.dataset.mask).classList.toggle("masked", field.checked);
  }
});

// Another kind of hierarchy begins with something that suits the column.
function kind(chosen) {
  const written = document.getElementById("written");
  const values = document.querySelector("[data-values]");
  const first = { intervals: bins.suggest, dates: () => "month, quarter, year" };
  if (chosen === "order" && values) written.value = `${JSON.parse(values.dataset.values).join("\n")}\nfanout: 2`;
  else written.value = chosen in first ? first[chosen]() : "";
  document.getElementById("kind").dataset.dirty = written.dataset.dirty = "yes";
  tree.show();
  if (chosen === "tree" && values) tree.add("begin", values);
}

// Values of a column that many rows have are offered; others can be typed.
document.addEventListener("focusin", (event) => {
  const number = /^find-value-(\d)$/.exec(event.target.id)?.[1];
  if (!number) return;
  const values = JSON.parse(document.getElementById("find-values").dataset.values)[document.getElementById(`find-column-${number}`).value];
  document.getElementById(`find-values-${number}`).replaceChildren(...values.map((value) => Object.assign(document.createElement("option"), { value })));
});

document.addEventListener("input", (event) => {
  const field = event.target;
  if (field.matches("[data-width]")) bins.slide(field, false);
  else if (field.matches("#written, #order, #ks, #seconds, #paste, #reviewer, [name=typed], [id^=find-value-], [data-find], #ledger-form input, #question-form :is(input, select, textarea), input[data-set], [data-known]")) {
    field.dataset.dirty = "yes"; // what is being written is kept while the page is put in anew
  }
  if (field.id === "written") tree.show();
});

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  if (form.id === "plan-form") {
    await write(document.getElementById("plan-text").value);
  } else if (form.id === "hierarchy-form") {
    const text = document.getElementById("written").value;
    const column = form.dataset.columnName;
    for (const field of form.querySelectorAll("[data-dirty]")) delete field.dataset.dirty;
    tree.forget();
    if ("classes" in form.dataset) await change([{ column, classes: text }]);
    else await change([{ column, kind: document.getElementById("kind").value, text }]);
  } else if (form.id === "order-form") {
    const field = document.getElementById("order");
    delete field.dataset.dirty;
    await change([{ column: form.dataset.columnName, order: field.value }]);
  } else if (form.id === "explore-form") {
    const methods = [...form.querySelectorAll("[name=method]:checked")].map((box) => box.value);
    const ks = document.getElementById("ks").value.split(/[^0-9]+/).filter(Boolean).map(Number);
    await start({ action: "explore", methods, ks, seconds: Number(document.getElementById("seconds").value) });
  } else if (form.id === "recipient-form") {
    const recipient = form.querySelector("[name=recipient]:checked").value;
    const signed = recipient === "colleagues" && document.getElementById("signed").checked;
    await call("POST", here("/draft"), { recipient, signed }).then(() => location.reload(), (error) => refuse(error.message));
  } else if (form.id === "review-form") {
    const confirmed = [...form.querySelectorAll("[name=confirmed]:checked")].map((box) => box.value);
    const by = document.getElementById("reviewer").value;
    try {
      refuse("");
      await call("POST", here("/review"), { by, of: form.dataset.of, confirmed });
      await refresh();
    } catch (error) {
      refuse(error.message);
    }
  } else if (form.id === "confirm-form") {
    const typed = [...form.querySelectorAll("[name=typed]")].map((field) => field.value);
    const points = [...form.querySelectorAll("[name=point]:checked")].map((box) => box.value);
    const body = { points, columns: JSON.parse(form.dataset.columns), typed };
    await call("POST", here(`/releases/${form.dataset.release}/confirm`), body).then(refresh, (error) => refuse(error.message));
  } else if (form.matches(".rename-form, .remove-form")) {
    const [method, key] = form.matches(".rename-form") ? ["PATCH", "title"] : ["DELETE", "name"];
    const value = form.querySelector("input").value;
    await call(method, `${prefix}/api/projects/${encodeURIComponent(form.dataset.name)}`, { [key]: value }).then(() => location.reload(), (error) => refuse(error.message));
  } else if (form.id === "find-form") {
    const facts = [...form.querySelectorAll("[data-find]")].map((field) => [field.value, document.getElementById(`find-value-${field.dataset.find}`).value]);
    await start({ action: "find", release: Number(form.dataset.release), facts: facts.filter(([, value]) => value) });
  } else if (form.id === "ledger-form") {
    await questions.create();
  } else if (form.id === "question-form") {
    await questions.send(form);
  } else if (form.id === "upload-form") {
    const file = document.getElementById("upload").files[0];
    await open("POST", `${prefix}/api/uploads?draft=no&name=${encodeURIComponent(file.name)}`, file, "application/octet-stream");
  } else if (form.id === "paste-form") {
    await open("POST", `${prefix}/api/uploads?draft=no&name=pasted.csv`, document.getElementById("paste").value, "application/octet-stream");
  }
});

// One key for each role, with the focus anywhere in the row of a column.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !event.target.closest) return;
  if (event.target.matches("input[type=number], input[type=text], textarea, select")) return;
  const row = event.target.closest("[data-row]");
  const radio = row && row.querySelector(`input[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (radio && !radio.checked) {
    event.preventDefault();
    radio.checked = true;
    radio.focus();
    radio.dispatchEvent(new Event("change", { bubbles: true }));
  }
});

// What a page has to have found out, it asks for when it is shown; each thing once for each state of the plan.
function ask() {
  const main = document.querySelector("main");
  if (!project() || !document.getElementById("plan-text")) return;
  tree.show();
  bins.show();
  followAll();
  const text = document.getElementById("plan-text");
  if (!text.dataset.dirty && text.value !== known) {
    known = text.value; // another plan: what was found of the one before may be asked again
    asked.clear();
  }
  const jobs = (main.dataset.wanted || "").split(" ").filter(Boolean).map((action) => ({ action }));
  for (const place of document.querySelectorAll("[data-levels]")) {
    jobs.push({ action: "levels", column: place.dataset.levels });
  }
  for (const place of document.querySelectorAll("[data-start]")) jobs.push(JSON.parse(place.dataset.start));
  for (const job of jobs) {
    const key = JSON.stringify(job);
    if (asked.has(key)) continue;
    asked.add(key);
    start(job);
  }
}

// Time since a run began, counted on in the browser.
setInterval(() => {
  for (const place of document.querySelectorAll("[data-elapsed]")) {
    const seconds = Number(place.dataset.elapsed);
    place.dataset.elapsed = seconds + 1;
    place.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  }
}, 1000);

// Columns by name and role; what is hidden keeps its role.
function sift() {
  const wanted = document.getElementById("column-search");
  if (!wanted) return;
  const [text, role] = [wanted.value.toLowerCase(), document.getElementById("column-role").value];
  let shown = 0;
  for (const row of document.querySelectorAll("[data-row]")) {
    row.hidden = !row.dataset.name.toLowerCase().includes(text) || (role !== "" && row.dataset.role !== role);
    shown += row.hidden ? 0 : 1;
  }
  const told = document.getElementById("column-count");
  told.textContent = told.dataset.words.replace("{count}", shown);
}

document.addEventListener("input", (event) => {
  if (event.target.matches("#column-search, #column-role")) {
    event.target.dataset.dirty = "yes";
    sift();
  }
});

document.addEventListener("click", async (event) => {
  if (event.target.id !== "bulk-go") return;
  const role = document.getElementById("bulk-role").value;
  const changes = [...document.querySelectorAll("[data-row]:not([hidden])")].map((row) => ({ column: row.dataset.name, role }));
  await change(changes);
});

document.addEventListener("shown", sift);
document.addEventListener("shown", ask);
plan.begin();
ask();
