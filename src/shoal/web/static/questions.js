// The ledger of the table, and questions that are booked in it.
import { call, here } from "./calls.js";
import { refresh, refuse } from "./swap.js";
import { follow } from "./watch.js";

const value = (id) => document.getElementById(id)?.value ?? "";

// The page that comes back shows the answer; a refusal is told, and nothing was booked.
async function send_to(path, body) {
  try {
    refuse("");
    const told = await call("POST", here(path), body);
    if (told.run) follow(told.run);
    await refresh();
  } catch (error) {
    refuse(error.message);
  }
}

export async function create() {
  await send_to("/ledger", { m: Number(value("ledger-m")), k: Number(value("ledger-k")) });
}

export async function send(form) {
  const body = { kind: form.dataset.kind, rho: value("question-rho"), where: [] };
  for (const field of form.querySelectorAll("[data-parameter]")) body[field.dataset.parameter] = field.value;
  if (document.getElementById("question-values")) {
    body.values = value("question-values").split("\n").map((line) => line.trim()).filter(Boolean);
  }
  for (let at = 0; document.getElementById(`where-${at}`); at++) {
    if (value(`where-${at}`)) body.where.push([value(`where-${at}`), value(`is-${at}`)]);
  }
  body.person = value("question-person") ? [value("question-person")] : [];
  body.rows_per_person = Number(value("question-rows"));
  await send_to("/questions", body);
}
