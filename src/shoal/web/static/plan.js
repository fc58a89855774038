// The plan beside the page: lines that the last change has made are lit for a moment, a line that is wrong stays marked.

const text = () => document.getElementById("plan-text");
const shade = () => document.getElementById("plan-shade");
const dark = [0, 0];
let lit = dark; // the lines that the last change has made, for a moment; whatever is drawn meanwhile keeps them
let timer = 0;

// Behind the text lies the same text unseen, a block for each line, so that a line can have a ground of its own.
function draw() {
  const wrong = Number(document.getElementById("plan-fault")?.dataset.line || 0);
  shade().replaceChildren(
    ...text().value.split("\n").map((line, at) => {
      const block = document.createElement("div");
      block.textContent = line || " ";
      if (at >= lit[0] && at < lit[1]) block.className = "lit";
      if (at + 1 === wrong) block.className = "wrong";
      return block;
    }),
  );
  shade().scrollTop = text().scrollTop;
}

export function show(value) {
  const field = text();
  if (field.dataset.dirty || field.value === value) return draw();
  const [before, after] = [field.value.split("\n"), value.split("\n")];
  let first = 0;
  while (first < after.length && before[first] === after[first]) first++;
  let last = 0;
  while (last < after.length - first && before.at(-1 - last) === after.at(-1 - last)) last++;
  field.value = value;
  lit = [first, Math.max(after.length - last, first + 1)];
  draw();
  reach(first);
  clearTimeout(timer);
  timer = setTimeout(darken, 2500);
}

function darken() {
  lit = dark;
  draw();
}

function reach(line) {
  const block = shade().children[line];
  if (block) text().scrollTop = shade().scrollTop = Math.max(0, block.offsetTop - 80);
}

export function toLine(line) {
  document.getElementById("plan-fold").open = true;
  const lines = text().value.split("\n");
  const begin = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  text().focus();
  text().setSelectionRange(begin, begin + (lines[line - 1] || "").length);
  reach(line - 1);
}

export function told(message, line) {
  const place = document.getElementById("plan-fault");
  place.textContent = message;
  place.dataset.line = line || "";
  draw();
  if (line) toLine(line);
}

export const unsaved = () => Boolean(text()?.dataset.dirty);

export function clean() {
  delete text().dataset.dirty;
  document.getElementById("plan-unsaved").hidden = true;
}

export function begin() {
  if (!text()) return;
  draw();
  text().addEventListener("scroll", () => (shade().scrollTop = text().scrollTop));
  text().addEventListener("input", () => {
    text().dataset.dirty = "yes";
    document.getElementById("plan-unsaved").hidden = false;
    darken();
  });
  new ResizeObserver(() => draw()).observe(text());
  const fold = document.getElementById("plan-fold");
  fold.open = localStorage.getItem("plan") === "open";
  fold.addEventListener("toggle", () => localStorage.setItem("plan", fold.open ? "open" : "folded"));
}
