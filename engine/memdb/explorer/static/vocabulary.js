// The vocabulary: types and predicates with their rules, and the names that wait to join them.

import { get, send } from "./api.js";
import { count, el, fill, nothing } from "./dom.js";
import { ask, perform, writing } from "./edit.js";

const OPPOSITE = { disable: "enable", enable: "disable" };

/** Proposals first, then types and predicates with their usage. */
export async function showVocabulary(app, into) {
  const answer = await get(["schema"]);
  const entries = answer.entries;
  const proposals = answer.proposals ?? [];
  const waiting = proposals.filter((one) => one.state === "pending");
  const dismissed = proposals.filter((one) => one.state === "dismissed");
  app.lists.count("vocabulary", waiting.length);
  fill(
    into,
    waiting.length > 0 && [el("h3", {}, "Proposals"), el("ul", { class: "rows" }, waiting.map((one) => proposal(app, one)))],
    ["type", "predicate"].map((kind) => section(app, kind, entries.filter((entry) => entry.kind === kind))),
    dismissed.length > 0 && [el("h3", {}, "Dismissed"), el("ul", { class: "rows" }, dismissed.map((one) => proposal(app, one)))],
  );
}

function section(app, kind, entries) {
  return [
    el("div", { class: "section-head" }, el("h3", {}, kind === "type" ? "Types" : "Predicates"), writing("Add…", () => addEntry(app, kind))),
    entries.length ? el("ul", { class: "rows" }, entries.map((entry) => row(app, entry))) : nothing("None yet."),
  ];
}

function row(app, entry) {
  const off = entry.state === "disabled";
  return el(
    "li",
    { class: off ? "card card-off" : "card", data: { entry: entry.name } },
    el("p", { class: "row-title" }, el("span", {}, entry.name), el("span", { class: "tagged" }, entry.origin), off && el("span", { class: "badge badge-off" }, "disabled"), el("span", { class: "row-note" }, count(entry.uses, "use"))),
    el("p", { class: "row-text" }, entry.description),
    el(
      "div",
      { class: "buttons" },
      entry.origin === "user" && writing("Describe", () => describe(app, entry)),
      off ? writing("Enable", () => act(app, "enable", entry)) : writing("Disable", () => act(app, "disable", entry)),
      off && entry.origin === "user" && writing("Delete", () => act(app, "delete", entry), { class: "danger" }),
    ),
  );
}

const change = (action, entry, more = {}) => send("POST", ["schema"], { action, kind: entry.kind, name: entry.name, ...more });
const DID = { add: "added", describe: "described anew", disable: "disabled", enable: "enabled", delete: "deleted" };

function act(app, action, entry, more = {}, before = null) {
  const back = {
    add: () => change("disable", entry),
    describe: before && (() => change("describe", entry, { description: before })),
    delete: () => change("add", entry, { description: entry.description }).then(() => change("disable", entry)),
  }[action] ?? (OPPOSITE[action] && (() => change(OPPOSITE[action], entry)));
  return perform(() => change(action, entry, more), `${entry.name} is ${DID[action]}.`, () => app.changed(), { back });
}

async function addEntry(app, kind) {
  const asked = await ask(kind === "type" ? "Add a type" : "Add a predicate", {
    text: "The description is the rule that a model extracts by: write what belongs, such as “a named drug or supplement”.",
    fields: [
      { name: "name", label: "Name", required: true },
      { name: "description", label: "Description", long: true, required: true },
    ],
    confirm: "Add",
  });
  if (asked?.name) await act(app, "add", { kind, name: asked.name }, { description: asked.description });
}

async function describe(app, entry) {
  const asked = await ask(`Describe ${entry.name}`, {
    fields: [{ name: "description", label: "Description", value: entry.description, long: true, required: true }],
  });
  if (asked?.description) await act(app, "describe", entry, { description: asked.description }, entry.description);
}

function proposal(app, one) {
  const body = { kind: one.kind, name: one.name };
  const post = (action, more = {}) => send("POST", ["proposals", action], { ...body, ...more });
  const done = () => app.changed();
  const approve = async () => {
    const asked = await ask(`Approve ${one.kind} ${one.name}`, {
      fields: [{ name: "description", label: "Description: the rule of extraction", value: one.description ?? "", long: true }],
      confirm: "Approve",
    });
    if (asked) await perform(() => post("approve", { description: asked.description || undefined }), `${one.name} is part of the vocabulary.`, done);
  };
  const dismiss = () => perform(() => post("dismiss"), `${one.name} is dismissed.`, done, { back: () => post("restore") });
  const restore = () => perform(() => post("restore"), `${one.name} waits again.`, done, { back: () => post("dismiss") });
  return el(
    "li",
    { class: "card", data: { proposal: one.name } },
    el("p", { class: "row-title" }, el("span", { class: "badge" }, one.kind), el("span", {}, one.name), el("span", { class: "row-note" }, `wanted by ${count(one.texts, "text")}`)),
    one.description && el("p", { class: "row-text" }, one.description),
    one.examples?.length ? el("p", { class: "row-note" }, one.examples.join(", ")) : null,
    el("div", { class: "buttons" }, one.state === "dismissed" ? writing("Restore", restore) : [writing("Approve", approve, { class: "primary" }), writing("Dismiss", dismiss)]),
  );
}
