// Follows runs by their events; the browser comes back by itself, and the server tells what was missed.
import { call, here } from "./calls.js";
import { refresh, refuse, tell } from "./swap.js";

const followed = new Map();

export async function start(job) {
  try {
    const told = await call("POST", here("/runs"), job);
    follow(told.run);
    await refresh();
  } catch (error) {
    refuse(error.message);
  }
}

export function follow(run) {
  if (followed.has(run)) return;
  const source = new EventSource(here(`/runs/${encodeURIComponent(run)}/events`));
  followed.set(run, source);
  source.addEventListener("progress", (event) => {
    const told = JSON.parse(event.data);
    const place = document.querySelector(`[data-watch="${CSS.escape(run)}"]`);
    if (!place) return;
    const text = place.querySelector(".work-step");
    text.textContent = text.textContent.replace(/:.*$/s, `: ${told.step}`);
    const bar = place.querySelector("progress");
    if (told.done === null) bar.removeAttribute("value");
    else bar.value = told.done;
  });
  source.addEventListener("end", async (event) => {
    source.close();
    const told = JSON.parse(event.data);
    await refresh();
    if (told.error && told.error.kind !== "Cancelled") tell(told.error.text);
  });
}

export function followAll() {
  for (const place of document.querySelectorAll("[data-watch]")) follow(place.dataset.watch);
}
