// The vocabulary: types and predicates with their rules, and the names that wait to join them.

import { get, send } from "./api.js";
import { count, el, fill, nothing } from "./dom.js";
import { ask, perform, writing } from "./edit.js";

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
    waiting.length > 0 && [el("h2", {}, "Proposals"), el("ul", { class: "rows" }, waiting.map((one) => proposal(app, one)))],
    ["type", "predicate"].map((kind) => section(app, kind, entries.filter((entry) => entry.kind === kind))),
    dismissed.length > 0 && [el("h2", {}, "Dismissed"), el("ul", { class: "rows" }, dismissed.map((one) => proposal(app, one)))],
  );
}

function section(app, kind, entries) {
  return [
    el("div", { class: "section-head" }, el("h2", {}, kind === "type" ? "Types" : "Predicates"), writing("Add…", () => addEntry(app, kind))),
    entries.length ? el("ul", { class: "rows" }, entries.map((entry) => row(app, entry))) : nothing("None yet."),
  ];
}

function row(app, entry) {
  const off = entry.state === "disabled";
  return el(
    "li",
    { class: off ? "card card-off" : "card", data: { entry: entry.name } },
    el("p", { class: "row-title" }, el("span", {}, entry.name), el("span", { class: "tagged" }, entry.origin), entry[FLAG[entry.kind].name] && el("span", { class: "tagged" }, FLAG[entry.kind].label), off && el("span", { class: "badge badge-off" }, "disabled"), el("span", { class: "row-note" }, count(entry.uses, "use"))),
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
// What an entry allows beside its rule.
const FLAG = {
  type: { name: "single_letters", label: "names may have one letter", check: true },
  predicate: { name: "single_valued", label: "a second object is a conflict", check: true },
};
const flagOf = (kind, asked) => ({ [FLAG[kind].name]: asked[FLAG[kind].name] });
const DID = { add: "added", describe: "described anew", disable: "disabled", enable: "enabled", delete: "deleted" };

function act(app, action, entry, more = {}) {
  return perform(() => change(action, entry, more), `${entry.name} is ${DID[action]}.`, () => app.changed());
}

async function addEntry(app, kind) {
  const asked = await ask(kind === "type" ? "Add a type" : "Add a predicate", {
    text: "The description is the rule that a model extracts by: write what belongs, such as “a named drug or supplement”.",
    fields: [
      { name: "name", label: "Name", required: true },
      { name: "description", label: "Description", long: true, required: true },
      FLAG[kind],
    ],
    confirm: "Add",
  });
  if (asked?.name) await act(app, "add", { kind, name: asked.name }, { description: asked.description, ...flagOf(kind, asked) });
}

async function describe(app, entry) {
  const asked = await ask(`Describe ${entry.name}`, {
    fields: [{ name: "description", label: "Description", value: entry.description, long: true, required: true }],
  });
  if (asked?.description) await act(app, "describe", entry, { description: asked.description });
}

function proposal(app, one) {
  const body = { kind: one.kind, name: one.name };
  const post = (action, more = {}) => send("POST", ["proposals", action], { ...body, ...more });
  const done = () => app.changed();
  const approve = async () => {
    const asked = await ask(`Approve ${one.kind} ${one.name}`, {
      fields: [{ name: "description", label: "Description: the rule of extraction", value: one.description ?? "", long: true }, FLAG[one.kind]],
      confirm: "Approve",
    });
    if (asked) await perform(() => post("approve", { description: asked.description || undefined, ...flagOf(one.kind, asked) }), `${one.name} is part of the vocabulary.`, done);
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
