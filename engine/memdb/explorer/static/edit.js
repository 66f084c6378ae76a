// Writing: a question in a dialog, the request, and a toast that says what was done and undoes it.

import { get, send, canWrite, WRITE_HELP } from "./api.js";
import { byId, coded, debounced, el, fill } from "./dom.js";

const TOAST_SECONDS = 20; // long enough to read and to reach the button
const MOST_TOASTS = 3; // more would cover the graph; the log has the undo of all

let pending = 0;

/** Whether a write is under way: what it changes is read again after it. */
export const isWriting = () => pending > 0;

/** Tell something; `undo` is what its button does. */
export function toast(text, { undo = null, error = false, hint = null } = {}) {
  const shown = el(
    "div",
    { class: error ? "toast toast-error" : "toast" },
    el("div", {}, el("p", {}, coded(text)), hint && el("p", { class: "faint" }, coded(hint))),
    undo && el("button", { type: "button", class: "undo", onclick: () => (shown.remove(), undo()) }, "Undo"),
    el("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => shown.remove() }, "×"),
  );
  byId("toasts").append(shown);
  while (byId("toasts").childElementCount > MOST_TOASTS) byId("toasts").firstElementChild.remove();
  setTimeout(() => shown.remove(), TOAST_SECONDS * 1000);
}

/** Say what failed and what to do. */
export function failed(error) {
  toast(error.message, { error: true, hint: error.hint });
}

/**
 * Do a write and tell of it. `call` gives the server's answer, which has what it `said` and, where it was a decision,
 * its id; `changed` is called after it, `reverted` after its undoing. `back` undoes what is no decision.
 */
export async function perform(call, said, changed, { back = null, reverted = changed } = {}) {
  pending += 1;
  try {
    const answer = await call();
    const decision = typeof answer.decision === "string" ? answer.decision : answer.decision?.id;
    const undo = back ?? (decision && (() => send("POST", ["undo"], { decision })));
    toast(answer.said ?? said, { undo: undo && (() => perform(undo, "Undone.", reverted)) });
    await changed();
    return answer;
  } catch (error) {
    failed(error);
    return null;
  } finally {
    pending -= 1;
  }
}

/** A button that writes; without a token it is there, off, and says why. */
export function writing(label, call, attributes = {}) {
  const off = canWrite ? {} : { disabled: true, title: WRITE_HELP };
  return el("button", { type: "button", onclick: call, ...attributes, ...off }, label);
}

/**
 * Ask in a dialog; gives the values by name, or null where it was closed. A field has name, label, value, and one of:
 * options (a list of [value, label]), `long` (a text of many lines), `check` (yes or no), `entity` (completes names of
 * entities).
 */
export function ask(title, { text = null, fields = [], confirm = "Save", danger = false }) {
  const dialog = byId("dialog");
  const inputs = fields.map((field) => [field, input(field)]);
  return new Promise((resolve) => {
    let values = null;
    const form = el(
      "form",
      {
        method: "dialog",
        onsubmit: () => {
          values = Object.fromEntries(inputs.map(([field, made]) => [field.name, field.check ? made.checked : made.value.trim()]));
        },
      },
      el("h2", {}, title),
      text && el("p", {}, text),
      inputs.map(([field, made]) => (field.check ? el("label", { class: "check" }, made, field.label) : el("label", {}, el("span", {}, field.label), made, completions(field, made)))),
      el(
        "div",
        { class: "buttons" },
        el("button", { type: "button", onclick: () => dialog.close() }, "Cancel"),
        el("button", { type: "submit", class: danger ? "danger" : "primary" }, confirm),
      ),
    );
    fill(dialog, form);
    dialog.addEventListener("close", () => resolve(values), { once: true });
    dialog.showModal();
    const first = inputs[0]?.[1];
    first?.focus();
    first?.select?.();
  });
}

function input(field) {
  const shared = { name: field.name, required: field.required ?? false };
  if (field.options) {
    const made = el("select", shared, field.options.map(([value, label]) => el("option", { value }, label)));
    made.value = field.value ?? field.options[0]?.[0] ?? "";
    return made;
  }
  if (field.check) return el("input", { type: "checkbox", name: field.name });
  if (field.long) return el("textarea", { ...shared, rows: 4, value: field.value ?? "" });
  return el("input", {
    ...shared,
    type: "text",
    value: field.value ?? "",
    autocomplete: "off",
    list: field.entity ? `completions-${field.name}` : null,
  });
}

function completions(field, made) {
  if (!field.entity) return null;
  const list = el("datalist", { id: `completions-${field.name}` });
  made.addEventListener(
    "input",
    debounced(async () => {
      try {
        const { entities } = await get(["entities"], { q: made.value, limit: 12 });
        fill(list, entities.map((entity) => el("option", { value: entity.name })));
      } catch {
        fill(list); // a name can be typed out without help
      }
    }, 150),
  );
  return list;
}
