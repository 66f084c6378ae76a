// The panel: one node as the store knows it, with where it stands, its text, and what it is joined to.

import { get, send } from "./api.js";
import { byId, count, el, fill, moment, nothing, shape, words } from "./dom.js";
import { failed, toast, writing } from "./edit.js";
import { tools } from "./entities.js";
import { kindOf, nameOf } from "./model.js";
import { markBadges } from "./search.js";

const MOST_OF_A_KIND = 50; // edges of one kind and direction that the server sends
const SHOWN = 12; // rows of one part before "all"

/** The panel on the right; it shows one node or is closed. */
export class Panel {
  #app;
  #asking = null;
  id = null;
  node = null;

  constructor(app) {
    this.#app = app;
    this.place = byId("panel");
  }

  /** Show a node. A reload keeps what is there until the new is. */
  async show(id, { reload = false } = {}) {
    this.#asking?.abort();
    this.#asking = new AbortController();
    const asking = this.#asking;
    this.id = id;
    this.place.hidden = false;
    document.body.classList.add("with-panel");
    if (!reload) fill(this.place, this.#top([]), el("p", { class: "loading" }, "Reading…"));
    try {
      this.node = await get(["node", id], {}, asking.signal);
    } catch (error) {
      if (error.name === "AbortError") return null;
      this.node = null;
      const gone = error.status === 404;
      fill(this.place, this.#top([]), nothing(gone ? `${nameOf(id)} is not in the store.` : error.message, error.hint));
      return null;
    }
    if (asking !== this.#asking) return null;
    this.#fill(reload);
    return this.node;
  }

  close() {
    this.#asking?.abort();
    this.id = null;
    this.node = null;
    this.place.hidden = true;
    document.body.classList.remove("with-panel");
  }

  #fill(reload) {
    const top = this.place.scrollTop;
    const open = new Map([...this.place.querySelectorAll("details")].map((one) => [one.dataset.part, one.open]));
    const node = this.node;
    const marks = { ...node, ...(node.marks ?? {}) };
    fill(
      this.place,
      this.#top(node.breadcrumb ?? []),
      el("h2", { class: "panel-title" }, shape(node.kind), el("span", {}, node.label)),
      el("p", { class: "badges" }, el("span", { class: "tagged" }, node.kind), node.type && el("span", { class: "tagged" }, node.type), markBadges(marks), copied(node.id)),
      node.description && el("p", { class: "panel-description" }, node.description),
      this.#aliases(node),
      this.#buttons(node),
      this.#superseded(marks),
      this.#body(node),
      this.#steps(node),
      this.#chunks(node),
      this.#mentioned(node),
      this.#documents(node),
      this.#edges(node),
      this.#links(node),
      this.#versions(node),
      this.#notes(node),
      this.#file(node),
    );
    if (!reload) {
      this.place.scrollTop = 0;
      return;
    }
    for (const one of this.place.querySelectorAll("details")) one.open = open.get(one.dataset.part) ?? one.open;
    this.place.scrollTop = top;
  }

  #top(breadcrumb) {
    const steps = breadcrumb.length ? breadcrumb : [{ id: null, label: this.id ?? "" }];
    return el(
      "div",
      { class: "panel-top" },
      el(
        "nav",
        { "aria-label": "Breadcrumb" },
        el("ol", { class: "crumbs" }, steps.map((step, at) => el("li", {}, this.#crumb(step, at === steps.length - 1)))),
      ),
      el("button", { type: "button", class: "quiet", "aria-label": "Close details", title: "Close (Esc)", onclick: () => this.#app.choose(null, { keepWalk: true }) }, "×"),
    );
  }

  #crumb(step, last) {
    if (last || !step.id) return el("span", { "aria-current": last ? "page" : null }, step.label);
    return el("button", { type: "button", class: "link", onclick: () => this.#app.choose(step.id) }, step.label);
  }

  #aliases(node) {
    const names = (node.aliases ?? []).map((alias) => alias.name ?? alias);
    return names.length > 0 && el("p", { class: "faint" }, "also called ", names.join(", "));
  }

  #buttons(node) {
    if (node.kind === "entity") return tools(this.#app, node);
    if (node.kind !== "document" && node.kind !== "chunk") return null;
    const id = node.kind === "document" ? node.id : (node.document ?? node.id.replace(/#[^#]*$/, ""));
    return el(
      "div",
      { class: "buttons" },
      writing("Open file", () => openFile(id), { class: "primary" }),
      node.kind === "document" &&
        this.#app.graph &&
        el("button", { type: "button", onclick: () => this.#app.toggle(id) }, this.#app.model.expanded.has(id) ? "Fold chunks" : "Show chunks"),
    );
  }

  #superseded(marks) {
    if (!marks.superseded_by?.length) return null;
    return el("p", { class: "note" }, "Superseded by ", marks.superseded_by.map((id) => this.#link(id, nameOf(id), kindOf(id))));
  }

  // Only this is markup: the server made it of the text, without any HTML that the text had.
  #body(node) {
    if (!node.html && !node.text) return null;
    const body = el("div", { class: "body" });
    if (node.html) body.innerHTML = node.html;
    else body.append(el("pre", {}, node.text));
    for (const link of body.querySelectorAll("a[href]")) {
      link.target = "_blank";
      link.rel = "noopener noreferrer";
    }
    this.#wikilinks(body, node.links ?? []);
    return el("div", {}, body, node.cut && el("p", { class: "note" }, "The text goes on: open its file to read all of it."));
  }

  // `[[links]]` of a memory as the store resolved them; what is loose stays as it is written.
  #wikilinks(body, links) {
    const known = new Map(links.filter((link) => link.status === "resolved" && link.id).map((link) => [link.raw, link.id]));
    if (!known.size) return;
    const texts = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) if (texts.currentNode.data.includes("[[") && !texts.currentNode.parentElement.closest("code, pre, a")) found.push(texts.currentNode);
    for (const text of found) {
      const parts = text.data.split(/(!?\[\[[^[\]]+\]\])/);
      text.replaceWith(...parts.map((part) => (known.has(part) ? this.#link(known.get(part), labelOfLink(part), kindOf(known.get(part))) : part)));
    }
  }

  #chunks(node) {
    if (node.kind !== "document") return null;
    const list = el("ul", { class: "links" }, el("li", { class: "faint" }, "Reading…"));
    this.#readChunks(node.id, list);
    return part("chunks", node.chunks || node.chunk_count ? `Chunks (${node.chunk_count ?? node.chunks})` : "Chunks", true, list);
  }

  async #readChunks(id, list) {
    try {
      const { chunks } = await get(["documents", id, "chunks"]);
      fill(list, some(chunks, (chunk) => el("li", {}, this.#link(chunk.id, chunk.label ?? nameOf(chunk.id), "chunk"), chunk.page && el("span", { class: "faint" }, `page ${chunk.page}`))));
      if (!chunks.length) fill(list, el("li", { class: "faint" }, "It has no text that could be read."));
    } catch (error) {
      fill(list, el("li", { class: "faint" }, error.message));
    }
  }

  #steps(node) {
    if (node.kind !== "chunk") return null;
    return el(
      "div",
      { class: "buttons" },
      node.previous && el("button", { type: "button", onclick: () => this.#app.choose(node.previous) }, "← Previous"),
      node.next && el("button", { type: "button", onclick: () => this.#app.choose(node.next) }, "Next →"),
      node.citation && el("span", { class: "faint" }, node.citation.text ?? node.citation),
    );
  }

  #mentioned(node) {
    if (node.kind !== "document" || !node.entities?.length) return null;
    const rows = some(node.entities, (one) => el("li", {}, this.#link(one.id, one.label, "entity"), el("span", { class: "faint" }, count(one.chunks, "chunk"))));
    return part("entities", `Mentions (${node.entities.length})`, true, el("ul", { class: "links" }, rows));
  }

  #documents(node) {
    const documents = node.documents ?? [];
    if (node.kind !== "entity" || !documents.length) return null;
    const total = Math.max(node.usage?.documents ?? 0, documents.length);
    return part(
      "documents",
      `Documents (${documents.length < total ? `${documents.length} of ` : ""}${total})`,
      true,
      el("ul", { class: "links" }, some(documents, (one) => el("li", {}, this.#link(one.document, one.label, "document"), el("span", { class: "faint" }, count(one.chunks, "chunk"))))),
    );
  }

  #edges(node) {
    const groups = new Map();
    for (const edge of edgesOf(node)) {
      const name = edgeName(edge);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(edge);
    }
    return [...groups].map(([name, edges]) => {
      const list = el("ul", { class: "links" }, some(edges, (edge) => this.#edge(edge)));
      return part(`edge ${name}`, `${name} (${edges.length < MOST_OF_A_KIND ? edges.length : `${edges.length} of ${Math.max(node.edge_counts?.[edges[0].kind] ?? 0, edges.length)}`})`, true, list);
    });
  }

  #edge({ other, weight, confidence }) {
    const sure = confidence ?? weight;
    return el("li", {}, this.#link(other.id, other.label ?? nameOf(other.id), other.kind ?? kindOf(other.id)), sure !== null && sure !== undefined && el("span", { class: "faint" }, Number(sure).toFixed(2)));
  }

  #links(node) {
    const loose = (node.links ?? []).filter((link) => link.status && link.status !== "resolved");
    if (!loose.length) return null;
    return part("links", `Unresolved links (${loose.length})`, true, el("ul", { class: "links" }, loose.map((link) => el("li", {}, el("code", {}, link.raw ?? link.target), el("span", { class: "faint" }, link.status)))));
  }

  #versions(node) {
    if (!node.versions?.length) return null;
    return part(
      "versions",
      `Earlier versions (${node.versions.length})`,
      false,
      el("ol", { class: "versions" }, node.versions.map((one) => el("li", {}, el("p", { class: "faint" }, `version ${one.number}, until ${moment(one.at)}`, one.reason && `, ${one.reason}`), one.text ? el("pre", {}, one.text) : el("p", { class: "faint" }, one.withheld)))),
    );
  }

  #notes(node) {
    const said = [...(node.problems ?? []), ...(node.notes ?? [])].map((one) => (typeof one === "string" ? one : (one.message ?? one.text)));
    return said.filter(Boolean).map((text) => el("p", { class: "note" }, text));
  }

  #file(node) {
    return node.file && el("p", { class: "faint file" }, node.file);
  }

  #link(id, label, kind) {
    return el("button", { type: "button", class: "link", data: { id }, onclick: () => this.#app.choose(id) }, shape(kind), el("span", {}, label));
  }
}

/** The edges of a node, the heaviest of each kind and direction. */
export const edgesOf = (node) => node.edges ?? [];

// The rows of a list, the first of many before a button that brings all.
function some(items, row) {
  if (items.length <= SHOWN) return items.map(row);
  const more = el("li", {}, el("button", { type: "button", class: "link", onclick: () => more.replaceWith(...items.slice(SHOWN).map(row)) }, `All ${items.length}`));
  return [...items.slice(0, SHOWN).map(row), more];
}

function part(name, title, open, ...children) {
  return el("details", { open, data: { part: name } }, el("summary", {}, title), children);
}

const TITLES = {
  "mentions out": "Mentions", "mentions in": "Mentioned by", "about out": "About", "about in": "Texts about it",
  "has_tag out": "Tags", "has_tag in": "Tagged", "links_to out": "Links to", "links_to in": "Linked from",
  "supersedes out": "Supersedes", "supersedes in": "Superseded by", "in_cluster out": "Cluster", "in_cluster in": "Members",
};

function edgeName({ kind, predicate, direction }) {
  if (predicate) return direction === "in" ? `← ${words(predicate)}` : `${words(predicate)} →`;
  return TITLES[`${kind} ${direction}`] ?? words(kind);
}

// `[[name|label]]` is its label, `[[name#heading]]` its name.
const labelOfLink = (raw) => raw.replace(/^!?\[\[|\]\]$/g, "").replace(/^[^|]*\|/, "").replace(/(.)#.*$/, "$1");

function copied(id) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(id);
      toast(`Copied ${id}`);
    } catch {
      toast(id, { hint: "The browser lets no page copy: select the id here." });
    }
  };
  return el("button", { type: "button", class: "quiet copy", title: `Copy the id ${id}`, onclick: copy }, "Copy id");
}

async function openFile(document) {
  try {
    const answer = await send("POST", ["documents", document, "open"]);
    toast(answer.said ?? "Opened.");
  } catch (error) {
    failed(error);
  }
}
