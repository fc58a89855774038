// A tree of classes and values, edited by dragging or by Alt and an arrow; the indented text beside it is the same tree.

const past = [];
const place = () => document.getElementById("tree");
const field = () => document.getElementById("written");
let dragged = null;
let root = { below: [] };

function read(text) {
  const top = { name: null, below: [], above: null };
  const way = [[-1, top]];
  for (const line of text.split("\n")) {
    if (!line.trim()) continue;
    const depth = line.length - line.trimStart().length;
    while (way.at(-1)[0] >= depth) way.pop();
    const node = { name: line.trim(), below: [], above: way.at(-1)[1] };
    node.above.below.push(node);
    way.push([depth, node]);
  }
  return top;
}

const written = (node, depth) =>
  node.below.map((one) => "  ".repeat(depth) + one.name + "\n" + written(one, depth + 1)).join("");

function changed(focus) {
  past.push(field().value);
  field().value = written(root, 0).trimEnd();
  field().dataset.dirty = "yes";
  show(focus);
}

export function undo() {
  if (!past.length || !place() || place().hidden) return false;
  field().value = past.pop();
  show();
  return true;
}

export const forget = () => past.splice(0);

function within(node, other) {
  for (let one = other; one; one = one.above) if (one === node) return true;
  return false;
}

function move(node, above, at) {
  if (within(node, above)) return;
  node.above.below.splice(node.above.below.indexOf(node), 1);
  node.above = above;
  above.below.splice(at, 0, node);
  changed(node.name);
}

function drop(onto) {
  if (!dragged || dragged === onto) return;
  if (onto.below.length || onto.above === root) move(dragged, onto, onto.below.length);
  else {
    const line = onto.above.below.filter((one) => one !== dragged);
    move(dragged, onto.above, line.indexOf(onto) + 1);
  }
  dragged = null;
}

function press(event, node) {
  if (!event.altKey || !event.key.startsWith("Arrow")) return;
  event.preventDefault();
  const line = node.above.below;
  const at = line.indexOf(node);
  if (event.key === "ArrowUp" && at > 0) move(node, node.above, at - 1);
  if (event.key === "ArrowDown" && at < line.length - 1) move(node, node.above, at + 1);
  if (event.key === "ArrowRight" && at > 0) move(node, line[at - 1], line[at - 1].below.length);
  if (event.key === "ArrowLeft" && node.above !== root) {
    move(node, node.above.above, node.above.above.below.indexOf(node.above) + 1);
  }
}

function item(node) {
  const entry = document.createElement("li");
  const handle = document.createElement("span");
  handle.className = "item";
  handle.draggable = true;
  handle.tabIndex = 0;
  handle.setAttribute("role", "button");
  handle.dataset.name = node.name;
  handle.addEventListener("dragstart", (event) => {
    dragged = node;
    event.dataTransfer.setData("text/plain", node.name);
    event.stopPropagation();
  });
  handle.addEventListener("keydown", (event) => press(event, node));
  entry.addEventListener("dragover", (event) => {
    event.preventDefault();
    event.stopPropagation();
    entry.classList.add("over");
  });
  entry.addEventListener("dragleave", () => entry.classList.remove("over"));
  entry.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    drop(node);
  });
  entry.append(handle);
  if (node.below.length || node.above === root) {
    handle.textContent = "⠿";
    handle.setAttribute("aria-label", node.name);
    const name = document.createElement("input");
    name.value = node.name;
    name.setAttribute("aria-label", node.name);
    name.addEventListener("change", () => {
      node.name = name.value.trim() || node.name;
      changed();
    });
    const list = document.createElement("ul");
    list.append(...node.below.map(item));
    entry.append(name, list);
  } else handle.textContent = node.name;
  return entry;
}

export function show(focus) {
  const kind = document.getElementById("kind");
  if (!place()) return;
  place().hidden = kind ? kind.value !== "tree" : false;
  if (place().hidden) return;
  root = read(field().value);
  place().querySelector("ul").replaceChildren(...root.below.map(item));
  if (focus) [...place().querySelectorAll(".item")].find((one) => one.dataset.name === focus)?.focus();
}

export function add(which, button) {
  const fresh = place().dataset.new;
  if (which === "new") {
    let name = fresh;
    for (let n = 2; root.below.some((one) => one.name === name); n++) name = `${fresh} ${n}`;
    root.below.push({ name, below: [], above: root });
    changed(name);
  } else {
    const there = new Set();
    const walk = (node) => node.below.forEach((one) => (there.add(one.name), walk(one)));
    walk(root);
    const missing = JSON.parse(button.dataset.values).filter((value) => !there.has(value));
    if (!missing.length) return;
    const above = { name: fresh, below: [], above: root };
    above.below = missing.map((name) => ({ name, below: [], above }));
    root.below.push(above);
    changed(fresh);
  }
}
