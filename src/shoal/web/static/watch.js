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
  let ended = -1;
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
  source.addEventListener("partial", async (event) => {
    const told = JSON.parse(event.data);
    const race = document.querySelector(`[data-lanes="${CSS.escape(run)}"]`);
    if (told.lanes && race) lanes(race, told.lanes);
    if (!told.lanes || told.ended !== ended) {
      ended = told.ended;
      await refresh();
    }
  });
  source.addEventListener("end", async (event) => {
    source.close();
    const told = JSON.parse(event.data);
    await refresh();
    if (told.error && told.error.kind !== "Cancelled") tell(told.error.text);
  });
}

function lanes(race, told) {
  const words = JSON.parse(race.dataset.words);
  told.forEach((lane, at) => {
    const place = race.children[at];
    if (!place) return;
    place.className = `lane ${lane.state.replace(" ", "-")}`;
    const bar = place.querySelector("progress");
    if (lane.state === "running" && lane.done === null) bar.removeAttribute("value");
    else bar.value = lane.state === "waiting" ? 0 : lane.state === "running" ? lane.done : 1;
    const loss = lane.loss === null ? words[lane.state] || lane.state : lane.loss.toLocaleString(document.documentElement.lang, { style: "percent", maximumFractionDigits: 1 });
    place.querySelector(".lane-told").textContent = lane.step ? `${loss}: ${lane.step}` : loss;
  });
}

export function followAll() {
  for (const place of document.querySelectorAll("[data-watch]")) follow(place.dataset.watch);
}
