// Puts the page as it is now in place of the page as it was; focus, scrolling and what is being written stay.
import { answered } from "./calls.js";
import * as plan from "./plan.js";

let asked = 0;

export function tell(text) {
  document.getElementById("live").textContent = text;
}

export function refuse(text) {
  const place = document.getElementById("refusal");
  place.textContent = text;
  place.hidden = !text;
  if (text) place.scrollIntoView({ block: "nearest" });
}

// A page that was asked for before the plan changed would show the plan as it was: it is not put in.
export function outdate() {
  asked++;
}

export async function refresh() {
  const mine = ++asked;
  const answer = await fetch(location.href);
  if (!answer.ok) {
    refuse(answered(answer.status));
    return;
  }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (mine !== asked) return; // a later one is on its way
  const focus = document.activeElement && document.activeElement.id;
  const said = document.getElementById("sentence")?.textContent;
  for (const part of fresh.querySelectorAll("[data-swap]")) {
    const old = document.querySelector(`[data-swap="${part.dataset.swap}"]`);
    if (!old || old.innerHTML === part.innerHTML) continue;
    if (part.dataset.swap === "fault" && plan.unsaved()) continue; // what is wrong with the text that stands there
    keep(old, part);
    old.replaceWith(document.adoptNode(part));
  }
  const text = fresh.getElementById("plan-text");
  if (text) plan.show(text.value);
  if (focus && document.activeElement.id !== focus) document.getElementById(focus)?.focus({ preventScroll: true });
  const now = document.getElementById("sentence")?.textContent;
  if (now && now !== said) tell(now);
  document.dispatchEvent(new Event("shown"));
}

// What somebody has opened, ticked or is writing is not taken away.
function keep(old, part) {
  for (const box of old.querySelectorAll("input[type=checkbox]:not([data-set], [data-key-set], [data-option])[id]")) {
    const same = part.querySelector(`#${CSS.escape(box.id)}`);
    if (same) same.checked = box.checked;
  }
  for (const field of old.querySelectorAll("[id][data-dirty]")) {
    const same = part.querySelector(`#${CSS.escape(field.id)}`);
    if (same && same.form?.dataset.columnName === field.form?.dataset.columnName) {
      same.value = field.value;
      same.dataset.dirty = "yes";
    }
  }
  const folds = new Map([...old.querySelectorAll("details")].map((one) => [one.firstElementChild.textContent, one.open]));
  for (const one of part.querySelectorAll("details")) one.open = folds.get(one.firstElementChild.textContent) ?? one.open;
}
