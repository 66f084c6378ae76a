// The picture: shapes by kind, edges by width, labels as far as there is room, and the walked path on top.

import { score, words } from "./dom.js";

const COLOURS = ["memory", "document", "chunk", "entity", "tag", "cluster", "edge", "walk", "text", "ground", "halo", "focus"];
const DIMMED = 0.13;
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const STRONG = '600 12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const BATCH = 64; // shapes of one path: a path of thousands takes a rasterizer many times as long
const MOST_LABELS = 220;
const CELL_X = 74; // px of the grid in which one label each has room
const CELL_Y = 16;

/** The colours of the style sheet, as the scheme of now has them. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

const TRACE = {
  memory: (to, x, y, r) => circle(to, x, y, r),
  entity: (to, x, y, r) => circle(to, x, y, r),
  chunk: (to, x, y, r) => to.rect(x - r * 0.85, y - r * 0.85, r * 1.7, r * 1.7),
  document: (to, x, y, r) => polygon(to, x, y, r * 1.3, 4, 0),
  tag: (to, x, y, r) => polygon(to, x, y, r * 1.25, 3, -Math.PI / 2),
  cluster: (to, x, y, r) => polygon(to, x, y, r * 1.15, 6, 0),
};

function circle(to, x, y, r) {
  to.moveTo(x + r, y);
  to.arc(x, y, r, 0, Math.PI * 2);
}

function polygon(to, x, y, r, corners, from) {
  for (let corner = 0; corner <= corners; corner += 1) {
    const angle = from + (corner / corners) * Math.PI * 2;
    if (corner === 0) to.moveTo(x + Math.cos(angle) * r, y + Math.sin(angle) * r);
    else to.lineTo(x + Math.cos(angle) * r, y + Math.sin(angle) * r);
  }
}

/** Draws a scene onto a canvas; what it needs of room is made once and used again. */
export class Drawing {
  #to;
  #taken = new Uint8Array(0);

  constructor(context) {
    this.#to = context;
    this.colours = colours();
  }

  /**
   * Draw it all. The scene: nodes (most important first), edges, size {width, height, ratio}, view {x, y, k}, lit (a Set of
   * ids, or null where nothing is dimmed), selected and hovered (nodes), expanded (a Set), walks, and the active walk.
   */
  draw(scene) {
    const to = this.#to;
    const { size, view } = scene;
    this.scale = view.k > 1 ? view.k ** -0.5 : view.k ** -0.4; // near, nodes do not swell; far, they do not vanish
    to.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    to.clearRect(0, 0, size.width, size.height);
    to.translate(view.x, view.y);
    to.scale(view.k, view.k);
    this.#edges(scene);
    this.#walkLines(scene);
    this.#nodes(scene);
    to.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    this.#labels(scene);
  }

  #edges({ edges, lit, view, selected, active }) {
    const to = this.#to;
    to.strokeStyle = this.colours.edge;
    for (let width = 1; width <= 4; width += 1) {
      to.lineWidth = (width === 1 ? 0.8 : width * 1.1) / Math.sqrt(view.k);
      for (let bright = 0; bright < 2; bright += 1) {
        if (bright === 1 && (!lit || active)) break;
        to.globalAlpha = lit && !bright ? DIMMED * 0.7 : 0.55;
        let batch = 0;
        to.beginPath();
        for (let at = 0; at < edges.length; at += 1) {
          const edge = edges[at];
          if (edge.width !== width) continue;
          if (lit && !active && isLit(edge, lit, selected) !== (bright === 1)) continue;
          to.moveTo(edge.source.x, edge.source.y);
          to.lineTo(edge.target.x, edge.target.y);
          batch += 1;
          if (batch % BATCH === 0) {
            to.stroke();
            to.beginPath();
          }
        }
        to.stroke();
      }
    }
    to.globalAlpha = 1;
  }

  #walkLines({ walks, active, selected, view, byId }) {
    const to = this.#to;
    to.strokeStyle = this.colours.walk;
    to.lineCap = "round";
    for (let at = 0; at < walks.length; at += 1) {
      if (active && walks[at] !== active) this.#line(walks[at], byId, 1.6 / view.k, 0.2);
    }
    if (active) this.#line(active, byId, 4 / view.k, 1);
    else for (let at = 0; at < walks.length; at += 1) this.#line(walks[at], byId, 2.4 / view.k, selected ? 0.25 : 0.75);
    to.globalAlpha = 1;
  }

  #line(walk, byId, width, alpha) {
    const to = this.#to;
    to.lineWidth = width;
    to.globalAlpha = alpha;
    to.beginPath();
    for (let hop = 0; hop < walk.length; hop += 1) {
      const node = byId.get(walk[hop].node);
      if (!node) continue;
      if (hop === 0) to.moveTo(node.x, node.y);
      else to.lineTo(node.x, node.y);
    }
    to.stroke();
  }

  #nodes({ nodes, lit, view, selected, hovered, expanded }) {
    const to = this.#to;
    for (const kind in TRACE) {
      const trace = TRACE[kind];
      for (let bright = 0; bright < 2; bright += 1) {
        if (bright === 1 && !lit) break;
        to.globalAlpha = lit && !bright ? DIMMED : 1;
        let batch = 0;
        to.beginPath();
        for (let at = 0; at < nodes.length; at += 1) {
          const node = nodes[at];
          if (node.kind !== kind || (lit && lit.has(node.id) !== (bright === 1))) continue;
          if (kind === "document" && expanded.has(node.id)) continue;
          trace(to, node.x, node.y, node.r * this.scale);
          batch += 1;
          if (batch % BATCH === 0) {
            this.#finish(kind);
            to.beginPath();
          }
        }
        this.#finish(kind);
      }
    }
    to.globalAlpha = 1;
    for (const id of expanded) this.#opened(id, nodes, lit);
    if (hovered) this.#ring(hovered, this.colours.text, 1.5 / view.k, 3 / view.k);
    if (selected) this.#ring(selected, this.colours.focus, 3 / view.k, 4 / view.k);
  }

  #finish(kind) {
    const to = this.#to;
    const colour = this.colours[kind];
    if (kind === "entity") {
      to.fillStyle = this.colours.ground;
      to.strokeStyle = colour;
      to.lineWidth = 2.2 * this.scale;
      to.fill();
      to.stroke();
    } else {
      to.fillStyle = colour;
      to.strokeStyle = this.colours.ground;
      to.lineWidth = this.scale;
      to.fill();
      to.stroke();
    }
  }

  #opened(id, nodes, lit) {
    const node = nodes.find((one) => one.id === id);
    if (!node) return;
    const to = this.#to;
    to.globalAlpha = lit && !lit.has(id) ? DIMMED : 1;
    to.beginPath();
    TRACE.document(to, node.x, node.y, node.r * this.scale);
    to.fillStyle = this.colours.ground;
    to.strokeStyle = this.colours.document;
    to.lineWidth = 2.2;
    to.fill();
    to.stroke();
    to.globalAlpha = 1;
  }

  #ring(node, colour, width, gap) {
    const to = this.#to;
    to.beginPath();
    to.strokeStyle = colour;
    to.lineWidth = width;
    TRACE[node.kind]?.(to, node.x, node.y, node.r * this.scale + gap);
    to.stroke();
  }

  // Labels: first what is walked, chosen and hovered, then by importance, one in each cell of a grid, more the closer.
  #labels(scene) {
    const { nodes, size, view, lit, selected, hovered, active, byId } = scene;
    const columns = Math.ceil(size.width / CELL_X) + 1;
    const cells = columns * (Math.ceil(size.height / CELL_Y) + 2);
    if (this.#taken.length < cells) this.#taken = new Uint8Array(cells);
    else this.#taken.fill(0);
    const to = this.#to;
    to.textBaseline = "middle";
    to.lineJoin = "round";
    if (active) this.#walkLabels(active, byId, view, size, columns);
    to.font = STRONG;
    if (selected) this.#label(selected, view, size, columns, true);
    if (hovered && hovered !== selected) this.#label(hovered, view, size, columns, true);
    to.font = FONT;
    let left = view.k > 1.6 ? MOST_LABELS : 14 + 50 * view.k;
    for (let at = 0; at < nodes.length && left > 0; at += 1) {
      const node = nodes[at];
      if (lit && !lit.has(node.id)) continue;
      if (node === selected || node === hovered) continue;
      if (this.#label(node, view, size, columns, false)) left -= 1;
    }
  }

  #label(node, view, size, columns, always) {
    const x = node.x * view.k + view.x + node.r * this.scale * view.k * 1.15 + 5;
    const y = node.y * view.k + view.y;
    if (x < -60 || y < 0 || x > size.width || y > size.height) return false;
    const text = node.short;
    const from = Math.max(0, Math.floor(x / CELL_X));
    const until = Math.min(columns - 1, Math.floor((x + text.length * 6.4) / CELL_X));
    const first = Math.max(0, Math.floor((y - 7) / CELL_Y)) * columns;
    const last = Math.floor((y + 7) / CELL_Y) * columns;
    for (let row = first; row <= last && !always; row += columns) {
      for (let cell = from; cell <= until; cell += 1) if (this.#taken[row + cell]) return false;
    }
    for (let row = first; row <= last; row += columns) for (let cell = from; cell <= until; cell += 1) this.#taken[row + cell] = 1;
    this.#text(text, x, y, this.colours.text);
    return true;
  }

  #text(text, x, y, colour) {
    const to = this.#to;
    to.strokeStyle = this.colours.halo;
    to.lineWidth = 3.5;
    to.strokeText(text, x, y);
    to.fillStyle = colour;
    to.fillText(text, x, y);
  }

  #walkLabels(walk, byId, view, size, columns) {
    const to = this.#to;
    to.font = STRONG;
    for (let hop = 0; hop < walk.length; hop += 1) {
      const node = byId.get(walk[hop].node);
      if (!node) continue;
      const x = node.x * view.k + view.x;
      const y = node.y * view.k + view.y;
      this.#badge(score(walk[hop].score), x, y - node.r * this.scale * view.k - 13);
      this.#label(node, view, size, columns, true);
      const before = hop > 0 ? byId.get(walk[hop - 1].node) : null;
      if (before) this.#step(walk[hop], (x + before.x * view.k + view.x) / 2, (y + before.y * view.k + view.y) / 2);
    }
  }

  #step(hop, x, y) {
    const to = this.#to;
    to.textAlign = "center";
    this.#text(`${words(hop.edge)} ×${Number(hop.weight ?? 0).toFixed(2)}`, x, y + 11, this.colours.walk);
    to.textAlign = "start";
  }

  #badge(text, x, y) {
    const to = this.#to;
    const width = to.measureText(text).width + 12;
    to.beginPath();
    to.roundRect(x - width / 2, y - 9, width, 18, 9);
    to.fillStyle = this.colours.walk;
    to.fill();
    to.fillStyle = this.colours.ground;
    to.textAlign = "center";
    to.fillText(text, x, y + 0.5);
    to.textAlign = "start";
  }
}

// Of a chosen node, the edges of it; of a walk, only the walk itself, which is drawn over them.
function isLit(edge, lit, selected) {
  if (selected) return edge.source === selected || edge.target === selected;
  return lit.has(edge.source.id) && lit.has(edge.target.id);
}

/** Of an edge, 1 to 4: how many of a document's chunks stand behind it, by its weight. */
export function widthOf(edge) {
  if (edge.kind !== "mentions" && edge.kind !== "about") return edge.kind === "supersedes" ? 2 : 1;
  const chunks = edge.chunks ?? edge.weight;
  return chunks >= 12 ? 4 : chunks >= 5 ? 3 : chunks > 1 ? 2 : 1;
}
