// The review queue: what waits for a person, with both sides and one button for each answer.

import { get, send } from "./api.js";
import { count, el, fill, nothing, shape, shownOf } from "./dom.js";
import { ask, perform, writing } from "./edit.js";
import { kindOf, nameOf } from "./model.js";

const STEP = 50; // items at a time
let most = STEP;

/** The queue, the most important first. */
export async function showReview(app, into) {
  const { items, total } = await get(["review"], { limit: most });
  app.lists.count("review", total);
  if (!items.length) return fill(into, nothing("Nothing waits for you.", "Conflicts, merges and proposals come here."));
  return fill(
    into,
    el("p", { class: "faint" }, count(total, "item")),
    el("ul", { class: "rows", "aria-label": "Review queue" }, items.map((item) => card(app, item))),
    shownOf(items.length, total, () => ((most += STEP), app.refreshTab("review"))),
  );
}

function card(app, item) {
  return el(
    "li",
    { class: "card", data: { item: item.id } },
    el("p", { class: "row-title" }, el("span", { class: "badge" }, item.kind), el("span", {}, item.title)),
    el("div", { class: "sides" }, (item.detail ?? []).map((line) => detail(app, line))),
    el("div", { class: "buttons" }, item.choices.filter((choice) => choice.here !== false).map((choice) => writing(choice.name.replaceAll("-", " "), () => answer(app, item, choice), { title: choice.does, data: { choice: choice.name } }))),
    item.choices.length === 0 && item.file && el("p", { class: "row-note" }, `Settled in ${item.file}`),
  );
}

function detail(app, { role, text }) {
  if (role === "quote") return el("blockquote", {}, text);
  const [, id, sure = ""] = /^(.*?)(, \d\.\d+)?$/s.exec(text); // of a stated relation its confidence follows
  if (role === "source" && /^(document:|[\w.-]+\/)/.test(id)) {
    const open = el("button", { type: "button", class: "link", title: id, onclick: () => app.choose(id) }, shape(kindOf(id)), " ", nameOf(id));
    return el("p", { class: "row-note" }, open, sure);
  }
  return el("p", { class: role === "side" ? "side-name" : "row-note" }, text);
}

async function answer(app, item, choice) {
  let text;
  if (choice.asks) {
    const asked = await ask(item.title, {
      text: choice.does,
      fields: [{ name: "text", label: choice.asks, value: choice.draft, long: true, required: choice.required }],
      confirm: choice.name.replaceAll("-", " "),
    });
    if (!asked) return;
    text = asked.text || undefined;
  }
  await perform(
    () => send("POST", ["review", "answer"], { item: item.id, choice: choice.name, text }),
    `${item.title}: ${choice.name.replaceAll("-", " ")}.`,
    () => app.changed(),
  );
}
