// The page's behaviour: a click is a change of the plan or a run, asked of the API; then the new page is put in.
import { call, here, project } from "./calls.js";
import { refresh, refuse } from "./swap.js";
import { followAll, start } from "./watch.js";

const undone = [];
const asked = new Set();

async function change(changes) {
  try {
    const field = document.getElementById("plan-text");
    undone.push(field.value);
    refuse("");
    const told = await call("PATCH", here("/plan"), { changes });
    delete field.dataset.dirty;
    await refresh();
    if (told.error) refuse(told.error);
  } catch (error) {
    undone.pop();
    refuse(error.message);
  }
}

async function write(text) {
  const field = document.getElementById("plan-text");
  const fault = document.getElementById("plan-fault");
  try {
    await call("PUT", here("/plan"), text, "text/plain");
    delete field.dataset.dirty;
    await refresh();
  } catch (error) {
    fault.textContent = error.message;
    if (error.line) {
      const lines = field.value.split("\n");
      const begin = lines.slice(0, error.line - 1).join("\n").length + (error.line > 1 ? 1 : 0);
      field.focus();
      field.setSelectionRange(begin, begin + (lines[error.line - 1] || "").length);
    }
  }
}

async function open(method, path, body, type) {
  try {
    refuse("");
    const told = await call(method, path, body, type);
    location.href = `/p/${encodeURIComponent(told.project)}/columns`;
  } catch (error) {
    refuse(error.message);
  }
}

const typed = (field) => (field.value === "" ? null : field.type === "number" ? Number(field.value) : field.value);

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  const data = button.dataset;
  if (data.sample) await open("POST", "/api/projects", { sample: data.sample });
  else if (data.open) await open("POST", "/api/projects", { path: data.open });
  else if (data.run) await start(JSON.parse(data.run));
  else if (data.cancel) await call("DELETE", here(`/runs/${encodeURIComponent(data.cancel)}`)).then(refresh);
  else if (data.changes) await change(JSON.parse(data.changes));
  else if ("remove" in data) await change([{ set: JSON.parse(data.set), value: null }]);
  else if ("undo" in data && undone.length) await write(undone.pop());
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
  if (field.matches("[data-column-name][type=radio]")) {
    await change([{ column: field.dataset.columnName, role: field.value }]);
  } else if (field.matches("input[data-set]")) {
    await change([{ set: JSON.parse(field.dataset.set), value: typed(field) }]);
  } else if (field.matches("[data-method]") && field.value) {
    await change([{ set: ["method"], value: { name: field.value } }]);
  } else if (field.matches("[data-mask]")) {
    document.getElementById(field.dataset.mask).classList.toggle("masked", field.checked);
  }
});

document.addEventListener("input", (event) => {
  if (event.target.id === "plan-text") event.target.dataset.dirty = "yes";
});

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = event.target;
  if (form.id === "plan-form") {
    await write(document.getElementById("plan-text").value);
  } else if (form.id === "hierarchy-form") {
    const kind = document.getElementById("kind").value;
    await change([{ column: form.dataset.columnName, kind, text: document.getElementById("written").value }]);
  } else if (form.id === "model-form") {
    await change([{ set: ["models", "+"], value: JSON.parse(document.getElementById("new-model").value) }]);
  } else if (form.id === "explore-form") {
    const methods = [...form.querySelectorAll("[name=method]:checked")].map((box) => box.value);
    const ks = document.getElementById("ks").value.split(/[^0-9]+/).filter(Boolean).map(Number);
    await start({ action: "explore", methods, ks, seconds: Number(document.getElementById("seconds").value) });
  } else if (form.id === "upload-form") {
    const file = document.getElementById("upload").files[0];
    await open("POST", `/api/uploads?name=${encodeURIComponent(file.name)}`, file, "application/octet-stream");
  } else if (form.id === "paste-form") {
    await open("POST", "/api/uploads?name=pasted.csv", document.getElementById("paste").value, "application/octet-stream");
  }
});

// One key for each role, with the focus anywhere in the row of a column.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !event.target.closest) return;
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
  if (!project()) return;
  followAll();
  const jobs = (main.dataset.wanted || "").split(" ").filter(Boolean).map((action) => ({ action }));
  for (const place of document.querySelectorAll("[data-levels]")) {
    jobs.push({ action: "levels", column: place.dataset.levels });
  }
  for (const place of document.querySelectorAll("[data-start]")) jobs.push(JSON.parse(place.dataset.start));
  for (const job of jobs) {
    const key = JSON.stringify(job) + document.getElementById("plan-text").defaultValue + undone.length;
    if (asked.has(key)) continue;
    asked.add(key);
    start(job);
  }
}

document.addEventListener("shown", ask);
ask();
