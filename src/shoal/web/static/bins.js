// Widths of intervals as sliders, and the column's histogram in the steps of a level, drawn anew while a slider moves.

const NICE = [1, 2, 2.5, 5];
const picture = () => document.getElementById("bars");
const round = (number) => Number(number.toPrecision(12));

function choices(low, high, fine) {
  const found = [];
  for (let power = -4; power < 12; power++) {
    for (const nice of NICE) {
      const width = round(nice * 10 ** power);
      if (width >= fine && width <= (high - low) * 1.01 && (fine < 1 || Number.isInteger(width))) found.push(width);
    }
  }
  return found.length ? found : [1];
}

const bars = () => JSON.parse(picture().dataset.bars);

// Codes such as 9999 are outside of the limits: they would squash the rest.
function range() {
  const all = bars();
  const gaps = all.slice(1).map((one, at) => one[0] - all[at][0]).filter((gap) => gap > 0);
  return [...JSON.parse(picture().dataset.limits), Math.max(Math.min(...gaps, 1), 1e-4)];
}

// Each level must be a whole number of steps of the one below.
export function fit(widths, at) {
  for (let level = at + 1; level < widths.length; level++) {
    const step = widths[level - 1];
    const times = Math.max(2, Math.ceil(round(widths[level] / step)));
    widths[level] = round(step * times);
  }
  for (let level = at - 1; level >= 0; level--) {
    let parts = Math.max(2, Math.round(widths[level + 1] / widths[level]));
    while (parts < 1000 && Number.isInteger(widths[level + 1]) && widths[level + 1] % parts) parts++;
    widths[level] = round(widths[level + 1] / parts);
  }
  return widths;
}

export function draw(width) {
  const all = bars();
  const [low, high, fine] = range();
  const held = new Map();
  const far = all.filter(([value]) => value < low || value > high).reduce((sum, [, count]) => sum + count, 0);
  for (const [value, count] of all) {
    if (value < low || value > high) continue;
    const bin = width ? Math.floor(round(value / width)) : value;
    held.set(bin, (held.get(bin) || 0) + count);
  }
  const from = width ? Math.floor(low / width) * width : low;
  const to = width ? (Math.floor(high / width) + 1) * width : high;
  const most = Math.max(...held.values());
  const scale = 720 / (to - from || 1);
  const made = [...held].map(([bin, count]) => {
    const rect = document.createElementNS("http" + "://www.w3.org/2000/svg", "rect");
    const wide = width ? width * scale : Math.max(2, Math.min(28, (720 * fine) / (to - from + fine || 1)));
    const x = width ? (bin * width - from) * scale : ((bin - from) / (to - from || 1)) * (720 - wide);
    const tall = (140 * count) / most + 1;
    for (const [key, value] of [["x", x], ["y", 150 - tall], ["width", Math.max(wide - 1, 0.7)], ["height", tall]]) {
      rect.setAttribute(key, value.toFixed(1));
    }
    rect.setAttribute("class", "before");
    return rect;
  });
  picture().replaceChildren(...made);
  const told = document.getElementById("bars-told");
  told.textContent = told.dataset.words.replace("{labels}", held.size).replace("{rows}", Math.min(...held.values()).toLocaleString(document.documentElement.lang));
  if (far) told.textContent += ` ${told.dataset.far.replace("{rows}", far.toLocaleString(document.documentElement.lang))}`;
}

export function suggest() {
  if (!picture()) return "5, 10, 20";
  const [low, high, fine] = range();
  const all = choices(low, high, fine);
  const near = (wanted) => all.reduce((best, one) => (Math.abs(one - wanted) < Math.abs(best - wanted) ? one : best));
  const [wide, least] = [high - low, 2 * fine];
  return fit([Math.max(near(wide / 12), least), near(wide / 5), near(wide / 2.5)], 0).join(", ");
}

const widths = () => [...document.querySelectorAll("[data-width]")].map((one) => Number(one.dataset.now));

export function slide(slider, done) {
  const all = JSON.parse(slider.dataset.all);
  const now = widths();
  now[Number(slider.dataset.width)] = all[Number(slider.value)];
  fit(now, Number(slider.dataset.width));
  now.forEach((width, level) => set(document.querySelector(`[data-width="${level}"]`), width, level === Number(slider.dataset.width)));
  const field = document.getElementById("written");
  field.value = now.join(", ");
  field.dataset.dirty = "yes";
  const level = document.getElementById("bars-level");
  if (level) level.value = slider.dataset.width;
  draw(now[Number(slider.dataset.width)]);
  if (done) document.getElementById("hierarchy-form").requestSubmit();
}

function set(slider, width, held) {
  slider.dataset.now = width;
  slider.nextElementSibling.textContent = width;
  slider.setAttribute("aria-valuetext", width);
  const all = JSON.parse(slider.dataset.all);
  if (!held) slider.value = all.reduce((best, one, at) => (Math.abs(one - width) < Math.abs(all[best] - width) ? at : best), 0);
}

export function level(which) {
  const field = document.getElementById("written");
  const now = field.value.split(",").map(Number).filter((one) => one > 0);
  if (which === "more") now.push(round((now.at(-1) || 1) * 2));
  else if (now.length > 1) now.pop();
  field.value = now.join(", ");
  document.getElementById("hierarchy-form").requestSubmit();
}

export function show() {
  if (!picture()) return;
  const given = JSON.parse(picture().dataset.widths);
  const [low, high, fine] = range();
  const all = JSON.stringify(choices(low, high, fine));
  document.querySelectorAll("[data-width]").forEach((slider, at) => {
    slider.dataset.all = all;
    slider.max = JSON.parse(all).length - 1;
    set(slider, given[at], false);
  });
  const chosen = document.getElementById("bars-level");
  if (chosen && !chosen.dataset.dirty && given.length) chosen.value = "0";
  draw(chosen ? given[Number(chosen.value)] || 0 : 0);
}
