// Elements with text that is text: nothing here parses markup.

/** An element; `attributes` are attributes, `on…` listeners, `class`, `data` and booleans; children are nodes or text. */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(made.dataset, value);
    else if (name === "value") made.value = value;
    else if (value === true) made.setAttribute(name, "");
    else made.setAttribute(name, value);
  }
  add(made, children);
  return made;
}

const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0\u{e0100}-\u{e01ef}]/gu;

/** Characters that draw nothing or steer the drawing, as `<U+200B>`; the server writes them so too. */
export const exposed = (text) => text.replace(HIDDEN, (one) => `<U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);

/** Append nodes and texts; null and false are left out, lists are flattened. */
export function add(parent, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    parent.append(child instanceof Node ? child : document.createTextNode(exposed(String(child))));
  }
  return parent;
}

/** Put these children in the place of all that an element has. */
export function fill(parent, ...children) {
  parent.replaceChildren();
  return add(parent, children);
}

export const byId = (id) => document.getElementById(id);

const counted = new Intl.NumberFormat("en");

/** `1,204 entities`, `1 entity`. */
export function count(number, one, many = `${one}s`) {
  return `${counted.format(number)} ${number === 1 ? one : many}`;
}

export const score = (value) => (value === null || value === undefined ? "" : value.toFixed(value >= 0.9995 ? 2 : 3));

/** An ISO time as the date and minute of this machine. */
export function moment(iso) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso ?? "";
  const two = (part) => String(part).padStart(2, "0");
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`;
}

/** Words of an identifier: `depends_on` → `depends on`. */
export const words = (name) => String(name ?? "").replaceAll("_", " ");

/** A small drawing of a kind of node, the same shape as on the canvas. */
export function shape(kind) {
  return el("span", { class: `shape shape-${kind}`, "aria-hidden": "true" });
}

/** A sentence in which what stands in backticks is a command or a name of a program. */
export const coded = (text) => String(text ?? "").split("`").map((part, at) => (at % 2 ? el("code", {}, part) : part));

/** What stands where a list has no rows: what it is, and what to do next. */
export function nothing(title, ...more) {
  return el("div", { class: "nothing" }, el("p", { class: "nothing-title" }, coded(title)), more.filter(Boolean).map((line) => el("p", {}, coded(line))));
}

/** What stands below a list of which more is there: how many it shows, and the button for more. */
export function shownOf(shown, total, more) {
  if (shown >= total) return null;
  return el("p", { class: "buttons" }, el("button", { type: "button", onclick: more }, "Show more"), el("span", { class: "faint" }, `${counted.format(shown)} of ${counted.format(total)}`));
}

/** A note beside a list. */
export const note = (text, attributes = {}) => el("p", { ...attributes, class: `note ${attributes.class ?? ""}`.trim() }, coded(text));

/** Run `call` once the calls for it have paused for `wait` milliseconds. */
export function debounced(call, wait) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), wait);
  };
}
