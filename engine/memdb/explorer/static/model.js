// What the canvas shows: layers of nodes and edges, each asked for another reason, joined by id and filtered.

export const KINDS = ["memory", "document", "chunk", "entity", "tag", "cluster"];

/** The edge of a chunk to its document. */
export const IN_DOCUMENT = "in_document";

const SMALLEST = 4;
const LARGEST = 16;

/** The graph of the page. A node stays the same object, with its place, for as long as the page is open. */
export class Model {
  known = new Map(); // id → node, with x and y
  layers = new Map(); // name → { nodes, edges }
  expanded = new Set(); // ids of documents
  hiddenKinds = new Set();
  type = "";
  total = null;
  truncated = false;
  nodes = [];
  edges = [];
  #shown = new Map(); // id → node
  neighbours = new Map(); // id → [edge, other node, …] in pairs

  /** Put a layer of `{nodes, edges}` as the server gives them. */
  put(name, { nodes = [], edges = [] }) {
    this.layers.set(name, { ids: nodes.map((node) => this.#keep(node).id), edges: edges.map(plainEdge) });
  }

  drop(name) {
    this.layers.delete(name);
  }

  #keep(given) {
    const id = given.id;
    let node = this.known.get(id);
    if (!node) {
      node = { id, kind: given.kind ?? kindOf(id), label: nameOf(id), type: null, degree: 0, r: SMALLEST };
      this.known.set(id, node);
    }
    node.kind = given.kind ?? node.kind;
    node.label = given.label ?? node.label;
    node.type = given.type ?? node.type;
    node.degree = given.degree ?? node.degree;
    node.r = Math.min(LARGEST, SMALLEST + Math.sqrt(node.degree) * (node.kind === "chunk" ? 0.6 : 0.9));
    return node;
  }

  /** Join the layers: what the filters hide is left out, but for what a search walked over. */
  join() {
    const shown = new Map();
    this.#shown = shown;
    const walked = new Set(this.layers.get("walk")?.ids ?? []);
    const kept = new Set([...walked, ...(this.layers.get("focus")?.ids ?? [])]);
    for (const { ids } of this.layers.values()) {
      for (const id of ids) {
        const node = this.known.get(id);
        if (walked.has(id) || this.#passes(node)) shown.set(id, node);
      }
    }
    const seen = new Set();
    this.edges = [];
    this.neighbours = new Map();
    for (const [layer, { edges }] of this.layers) {
      for (const edge of edges) {
        const source = shown.get(edge.source);
        const target = shown.get(edge.target);
        if (!source || !target || source === target) continue;
        // Of a document that is open, the edges of its chunks stand for the ones that were rolled up.
        if (layer === "base" && edge.kind !== IN_DOCUMENT && (this.#isOpen(source) || this.#isOpen(target))) continue;
        const key = `${edge.source}\n${edge.target}\n${edge.kind}\n${edge.predicate ?? ""}`;
        if (seen.has(key)) continue;
        seen.add(key);
        this.#join({ ...edge, source, target });
      }
    }
    // Of one type, what is of no type or of another is there for what it joins.
    if (this.type) for (const [id, node] of shown) if (node.type !== this.type && !kept.has(id) && !this.neighbours.has(id)) shown.delete(id);
    this.nodes = [...shown.values()].sort((a, b) => b.degree - a.degree || (a.id < b.id ? -1 : 1));
    this.#place();
  }

  #join(edge) {
    this.edges.push(edge);
    for (const [one, other] of [[edge.source, edge.target], [edge.target, edge.source]]) {
      const list = this.neighbours.get(one.id);
      if (list) list.push(edge, other);
      else this.neighbours.set(one.id, [edge, other]);
    }
  }

  #passes(node) {
    if (this.hiddenKinds.has(node.kind)) return false;
    return !this.type || !["entity", "memory"].includes(node.kind) || node.type === this.type;
  }

  /** The types to ask for, that the most connected of them are drawn: with an entity's come documents, which mention it. */
  asked() {
    if (!this.type) return [];
    const { entity = {}, document = {} } = this.total?.types ?? {};
    return this.type in entity ? [this.type, ...Object.keys(document)] : [this.type];
  }

  #isOpen(node) {
    return node.kind === "document" && this.expanded.has(node.id);
  }

  // A new node begins beside one that it is joined to: what was there keeps its place.
  #place() {
    let turn = 0;
    for (const node of this.nodes) {
      if (node.x !== undefined) continue;
      const beside = (this.neighbours.get(node.id) ?? []).find((one) => one.id !== undefined && one.x !== undefined);
      if (!beside) continue;
      turn += 2.399963; // the golden angle: neighbours do not fall on one place
      node.x = beside.x + Math.cos(turn) * 26;
      node.y = beside.y + Math.sin(turn) * 26;
    }
  }

  has(id) {
    return this.#shown.has(id);
  }

  /** The types that memories and entities have, all or of one kind. */
  types(...kinds) {
    const counted = this.total?.types ?? {};
    const asked = kinds.length ? kinds : ["memory", "entity"];
    return [...new Set(asked.flatMap((kind) => Object.keys(counted[kind] ?? {})))].sort();
  }
}

function plainEdge(edge) {
  return {
    source: edge.source,
    target: edge.target,
    kind: edge.kind,
    weight: edge.weight ?? 1,
    chunks: edge.chunks ?? null,
    predicate: edge.predicate || null,
  };
}

/** The kind of a node by how its id begins. */
export function kindOf(id) {
  const start = /^(entity|tag|cluster|document):/.exec(id)?.[1];
  if (start === "document") return id.includes("#") ? "chunk" : "document";
  return start ?? "memory";
}

/** The document of a chunk, by its id. */
export const documentOf = (id) => id.replace(/#[^#]*$/, "");

/** What to call a node whose label is not known. */
export function nameOf(id) {
  const kind = kindOf(id);
  if (kind === "memory") return id.slice(id.indexOf("/") + 1);
  if (kind === "document" || kind === "chunk") return id.slice(id.lastIndexOf("/") + 1).replace(/^document:/, "");
  return id.slice(id.indexOf(":") + 1);
}
