// What of the graph is shown: kinds (which are the legend too), a type, and how many nodes.

import { byId, el, fill, shape } from "./dom.js";
import { KINDS } from "./model.js";

const SIZES = [[300, "300 nodes"], [1000, "1,000 nodes"], [5000, "5,000 nodes"]];
const PLURALS = { memory: "memories", document: "documents", chunk: "chunks", entity: "entities", tag: "tags", cluster: "clusters" };

/** Fill the place of the filters; `changed` is called after a choice, `resized` when other nodes must be asked for. */
export function showFilters(app, changed, resized) {
  const { model } = app;
  const present = new Set([...model.known.values()].map((node) => node.kind));
  const types = model.types();
  fill(
    byId("filters"),
    el(
      "div",
      { class: "kinds", role: "group", "aria-label": "Kinds" },
      KINDS.filter((kind) => present.has(kind)).map((kind) =>
        el(
          "button",
          {
            type: "button", "aria-pressed": String(!model.hiddenKinds.has(kind)), data: { kind }, title: `Show or hide ${PLURALS[kind]}`,
            onclick: (event) => {
              if (!model.hiddenKinds.delete(kind)) model.hiddenKinds.add(kind);
              event.currentTarget.setAttribute("aria-pressed", String(!model.hiddenKinds.has(kind)));
              changed();
            },
          },
          shape(kind),
          PLURALS[kind],
        ),
      ),
    ),
    types.length > 1 && choice("Type", [["", "all types"], ...types.map((type) => [type, type])], model.type, (value) => {
      model.type = value;
      resized();
    }),
    (model.truncated || (model.total?.nodes ?? 0) > SIZES[0][0]) && choice("How many nodes", SIZES.map(([size, label]) => [String(size), label]), String(app.limit), (value) => resized(Number(value))),
  );
}

function choice(label, options, value, chosen) {
  const made = el("select", { "aria-label": label, onchange: (event) => chosen(event.target.value) }, options.map(([option, text]) => el("option", { value: option }, text)));
  made.value = value;
  return made;
}
