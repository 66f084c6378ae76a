// The page by keyboard: / searches, arrows move, Enter opens, Escape lets go, + - 0 zoom, ? explains.

import { byId, el, fill, shape } from "./dom.js";

const ARROWS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };

const KEYS = [
  ["/", "search"],
  ["↑ ↓", "move in a list"],
  ["← →", "move between tabs"],
  ["Enter", "open what is chosen; a document shows its chunks"],
  ["g", "go to the graph; there, arrows move between neighbours"],
  ["+ − 0", "zoom in, zoom out, show all"],
  ["Esc", "close the panel, let go of the walk"],
  ["?", "this help"],
];

const SHAPES = [
  ["memory", "a memory"],
  ["document", "a document; a click shows its chunks"],
  ["chunk", "a chunk of a document"],
  ["entity", "an entity, a named thing"],
  ["tag", "a tag"],
  ["cluster", "a cluster of memories with like meaning"],
];

export function startKeys(app) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    const done = event.key === "Escape" ? escape(app, event) : typing ? inField(event) : press(app, event);
    if (done) event.preventDefault();
  });
  byId("help-button").addEventListener("click", help);
}

function escape(app, event) {
  if (event.target.id === "search" && event.target.value) {
    app.search.clear();
    return true;
  }
  const back = app.search.chosen;
  app.choose(null);
  if (back) byId("list").querySelector(`.hit[data-id="${CSS.escape(back)}"]`)?.focus();
  else if (event.target === document.body || event.target.closest(".panel")) byId("search").focus();
  return true;
}

function inField(event) {
  if (event.key !== "ArrowDown" || event.target.tagName !== "INPUT" || event.target.hasAttribute("list")) return false;
  return focusRow(byId("list"), 0);
}

function press(app, event) {
  const { key, target } = event;
  if (key === "/") return focusSearch();
  if (key === "?") return help();
  if (key === "g") return app.view("graph"), byId("canvas").focus(), true;
  if (app.graph) {
    if (key === "+" || key === "=") return app.graph.zoomBy(1.4), true;
    if (key === "-") return app.graph.zoomBy(1 / 1.4), true;
    if (key === "0") return app.graph.fit(), true;
  }
  if (target.id === "canvas") return onCanvas(app, key);
  const arrow = ARROWS[key];
  if (!arrow) return false;
  if (target.role === "tab" || target.getAttribute("role") === "tab") return arrow[0] !== 0 && nextTab(app, target, arrow[0]);
  const place = target.closest("#list, #panel");
  return Boolean(place) && arrow[1] !== 0 && moveRow(place, target, arrow[1]);
}

function focusSearch() {
  byId("search").focus();
  byId("search").select();
  return true;
}

function onCanvas(app, key) {
  if (!app.graph) return false;
  const arrow = ARROWS[key];
  if (arrow) {
    const next = app.graph.towards(...arrow);
    if (next) app.point(next);
    return true;
  }
  if (key !== "Enter") return false;
  const chosen = app.graph.scene.selected;
  if (!chosen) return false;
  if (chosen.kind === "document") app.toggle(chosen.id);
  app.choose(chosen.id);
  return true;
}

const rowsOf = (place) => [...place.querySelectorAll(place.id === "panel" ? "button, a[href], summary" : ".row, .card button:not(:disabled), summary")];

function focusRow(place, at) {
  const row = rowsOf(place)[at];
  row?.focus();
  return Boolean(row);
}

function moveRow(place, from, step) {
  const rows = rowsOf(place);
  const at = rows.indexOf(from) + step;
  if (at < 0 && place.id === "list") return focusSearch();
  return focusRow(place, Math.max(0, Math.min(rows.length - 1, at)));
}

function nextTab(app, from, step) {
  const tabs = [...byId("tabs").children];
  const next = tabs[(tabs.indexOf(from) + step + tabs.length) % tabs.length];
  app.openTab(next.dataset.tab);
  next.focus();
  return true;
}

function help() {
  const dialog = byId("help");
  fill(
    dialog,
    el("h2", {}, "Keys"),
    el("dl", { class: "keys" }, KEYS.map(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)])),
    el("h2", {}, "Shapes"),
    el("ul", { class: "legend" }, SHAPES.map(([kind, is]) => el("li", {}, shape(kind), is))),
    el("p", { class: "faint" }, "A line between a document and an entity is the wider the more chunks mention it. A walk is drawn from the seed to the answer; each hop has its running score."),
    el("form", { method: "dialog", class: "buttons" }, el("button", { type: "submit", class: "primary" }, "Close")),
  );
  dialog.showModal();
  return true;
}
