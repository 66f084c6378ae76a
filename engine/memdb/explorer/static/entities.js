// Entities: the list with its filter, and what a person may correct of one.

import { get, send } from "./api.js";
import { count, debounced, el, fill, nothing, shape } from "./dom.js";
import { ask, failed, perform, writing } from "./edit.js";

const PAGE = 60;
const keyOf = (id) => id.replace(/^entity:/, "");
const why = { name: "why", label: "Why (optional)" };

/** Ask for a new name and give it. */
export async function rename(app, entity) {
  const asked = await ask(`Rename ${entity.label}`, {
    text: "The old name stays an alias.",
    fields: [{ name: "name", label: "Name", value: entity.label, required: true }, why],
    confirm: "Rename",
  });
  if (!asked?.name || asked.name === entity.label) return;
  const body = { name: asked.name, why: asked.why || undefined };
  await change(app, entity, body, `${entity.label} is now ${asked.name}.`, asked.name);
}

/** Ask for another type and give it. */
export async function retype(app, entity) {
  const types = await activeTypes();
  const asked = await ask(`Type of ${entity.label}`, {
    fields: [{ name: "type", label: "Type", value: entity.type ?? types[0], options: types.map((type) => [type, type]) }, why],
    confirm: "Set type",
  });
  if (!asked?.type || asked.type === entity.type) return;
  await change(app, entity, { type: asked.type, why: asked.why || undefined }, `The type of ${entity.label} is ${asked.type} now.`);
}

async function activeTypes() {
  try {
    const { entries } = await get(["schema"]);
    return entries.filter((entry) => entry.kind === "type" && entry.state === "active").map((entry) => entry.name);
  } catch (error) {
    failed(error);
    return [];
  }
}

// An entity's id follows from its name: what was shown is shown under the id that it has then.
function change(app, entity, body, said, name = entity.label) {
  return perform(
    () => send("PATCH", ["entities", keyOf(entity.id)], body),
    said,
    () => app.changed({ entity: name }),
    { reverted: () => app.changed({ entity: entity.label }) },
  );
}

/** Ask which entity it belongs to and merge it into that one. */
export async function merge(app, entity) {
  const asked = await ask(`Merge ${entity.label} into…`, {
    text: "Its mentions and relations move to the entity that you name; its name becomes an alias.",
    fields: [{ name: "into", label: "Entity", entity: true, required: true }, why],
    confirm: "Merge",
  });
  if (!asked?.into) return;
  await perform(
    () => send("POST", ["entities", keyOf(entity.id), "merge"], { into: asked.into, why: asked.why || undefined }),
    `${entity.label} is part of ${asked.into} now.`,
    () => app.changed({ entity: asked.into }),
    { reverted: () => app.changed({ entity: entity.label }) },
  );
}

/** Take it out of the graph after a question; the texts stay. */
export async function remove(app, entity) {
  const asked = await ask(`Delete ${entity.label}?`, {
    text: "Its edges go; the memories and documents that mention it are not touched. It does not come back by itself.",
    fields: [why],
    confirm: "Delete",
    danger: true,
  });
  if (!asked) return;
  await perform(
    () => send("DELETE", ["entities", keyOf(entity.id)], { why: asked.why || undefined }),
    `${entity.label} is deleted.`,
    () => app.changed({ closes: true }),
    { reverted: () => app.changed({ entity: entity.label }) },
  );
}

function restore(app, entity) {
  return perform(() => send("POST", ["entities", keyOf(entity.id), "restore"]), `${entity.name} is back.`, () => app.changed());
}

/** The buttons of an entity's panel. */
export function tools(app, entity) {
  return el(
    "div",
    { class: "buttons" },
    writing("Rename", () => rename(app, entity)),
    writing("Type", () => retype(app, entity)),
    writing("Merge", () => merge(app, entity)),
    writing("Delete", () => remove(app, entity), { class: "danger" }),
  );
}

const state = { q: "", type: "", sort: "mentions", deleted: false };

/** The list of entities, filtered and in pages. */
export async function showEntities(app, into) {
  const rows = el("ul", { class: "rows", "aria-label": "Entities" });
  const more = el("div", { class: "more" });
  const head = el("p", { class: "faint" });
  const load = async (offset) => {
    const query = { q: state.q, type: state.type, sort: state.sort, deleted: state.deleted ? 1 : "", limit: PAGE, offset };
    let answer;
    try {
      answer = await get(["entities"], query);
    } catch (error) {
      fill(more, nothing(error.message, error.hint));
      return;
    }
    const made = answer.entities.map((entity) => row(app, entity));
    if (offset) rows.append(...made);
    else fill(rows, made);
    const total = answer.total ?? offset + answer.entities.length;
    const shown = offset + answer.entities.length;
    head.textContent = count(total, "entity", "entities");
    if (total === 0) fill(more, none());
    else if (shown < total && answer.entities.length) {
      fill(more, el("button", { type: "button", onclick: () => load(shown) }, "Show more"));
    } else fill(more);
  };
  const filter = debounced(() => load(0), 150);
  fill(
    into,
    el(
      "div",
      { class: "controls" },
      el("input", {
        type: "search", placeholder: "Filter by name", "aria-label": "Filter by name", value: state.q,
        oninput: (event) => ((state.q = event.target.value), filter()),
      }),
      typeChoice(app, () => load(0)),
      el("label", { class: "check" }, el("input", { type: "checkbox", checked: state.deleted, onchange: (event) => ((state.deleted = event.target.checked), load(0)) }), "deleted"),
    ),
    head,
    rows,
    more,
  );
  await load(0);
}

function none() {
  if (state.deleted) return nothing("No entity is deleted.");
  if (state.q || state.type) return nothing("No entity is called so.", "Clear the filter to see all.");
  return nothing("No entities yet.", "Names are found in memories and documents when they are indexed.");
}

function typeChoice(app, changed) {
  const choice = el(
    "select",
    { "aria-label": "Type", onchange: (event) => ((state.type = event.target.value), changed()) },
    el("option", { value: "" }, "All types"),
    app.entityTypes().map((type) => el("option", { value: type }, type)),
  );
  choice.value = state.type;
  return choice;
}

function row(app, entity) {
  if (state.deleted) {
    return el("li", { class: "card", data: { id: entity.id } }, el("p", { class: "row-title" }, shape("entity"), entity.name), el("div", { class: "buttons" }, writing("Restore", () => restore(app, entity))));
  }
  const used = [count(entity.mentions, "mention"), entity.memories && count(entity.memories, "memory", "memories"),
    entity.documents && count(entity.documents, "document")].filter(Boolean);
  return el(
    "li",
    {},
    el(
      "button",
      { type: "button", class: "row", data: { id: entity.id }, onclick: () => app.choose(entity.id) },
      shape("entity"),
      el(
        "span",
        { class: "row-main" },
        el("span", { class: "row-title" }, entity.name, entity.type && el("span", { class: "tagged" }, entity.type)),
        el("span", { class: "row-note" }, used.join(" · "), entity.aliases?.length ? ` · also ${entity.aliases.join(", ")}` : ""),
      ),
    ),
  );
}

