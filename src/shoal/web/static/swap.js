// Puts the page as it is now in place of the page as it was; focus, scrolling and what is being written stay.

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

export async function refresh() {
  const mine = ++asked;
  const answer = await fetch(location.href);
  if (!answer.ok) {
    refuse(`The server answered ${answer.status}: ${answer.status === 401 ? "open the link that it has printed" : "load the page again"}.`);
    return;
  }
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (mine !== asked) return; // a later one is on its way
  const focus = document.activeElement && document.activeElement.id;
  const said = document.getElementById("sentence")?.textContent;
  for (const part of fresh.querySelectorAll("[data-swap]")) {
    const old = document.querySelector(`[data-swap="${part.dataset.swap}"]`);
    if (!old) continue;
    keepOpen(old, part);
    old.replaceWith(document.adoptNode(part));
  }
  const text = fresh.getElementById("plan-text");
  const shown = document.getElementById("plan-text");
  if (text && shown && !shown.dataset.dirty) light(shown, text.value);
  if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  const now = document.getElementById("sentence")?.textContent;
  if (now && now !== said) tell(now);
  document.dispatchEvent(new Event("shown"));
}

function keepOpen(old, part) {
  for (const box of old.querySelectorAll("input[type=checkbox]:not([data-set])[id]")) {
    const same = part.querySelector(`#${CSS.escape(box.id)}`);
    if (same) same.checked = box.checked;
  }
}

// The lines that the last change has made are selected, and lit for a moment.
function light(shown, text) {
  if (shown.value === text) return;
  const before = shown.value.split("\n");
  const after = text.split("\n");
  let first = 0;
  while (first < after.length && before[first] === after[first]) first++;
  let last = 0;
  while (last < after.length - first && before.at(-1 - last) === after.at(-1 - last)) last++;
  const start = after.slice(0, first).join("\n").length + (first ? 1 : 0);
  const end = after.slice(0, Math.max(after.length - last, first)).join("\n").length;
  shown.value = text;
  if (before.length > 1) {
    shown.setSelectionRange(start, Math.max(start, end));
    shown.scrollTop = Math.max(0, (first - 5) * (shown.scrollHeight / Math.max(after.length, 1)));
    shown.classList.add("changed");
    setTimeout(() => shown.classList.remove("changed"), 1500);
  }
}
