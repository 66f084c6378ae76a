// The picture: shapes by kind, edges by width, labels as far as there is room, and the walked path on top.

import { Labels } from "./labels.js";

const COLOURS = ["memory", "document", "chunk", "entity", "tag", "cluster", "edge", "walk", "text", "faint", "ground", "halo", "focus"];
const DIMMED = 0.13;
const BATCH = 64; // shapes of one path: a path of thousands takes a rasterizer many times as long
const EDGE_MARGIN = 40; // px around the canvas in which a node is still drawn
const DOT = 2; // px: what is drawn smaller has no shape that one could tell
const MOST_EDGES = 9000; // of a picture that stands still; more make it grey, not clearer
const MOST_MOVING = 1500; // edges of a picture that moves: each node's heaviest come first

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
  #labels;
  drawn = { nodes: 0, edges: 0, labels: 0 }; // of the last picture

  constructor(context) {
    this.#to = context;
    this.colours = colours();
    this.#labels = new Labels(context, this.colours);
  }

  /**
   * Draw it all. The scene: nodes (most important first), edges (ranked), moving, size {width, height, ratio}, view {x, y, k}, lit (a Set of
   * ids, or null where nothing is dimmed), selected and hovered (nodes), expanded (a Set), walks, the active walk, and seeds
   * (a Map of what found each).
   */
  draw(scene) {
    const to = this.#to;
    const { size, view } = scene;
    this.scale = view.k > 1 ? view.k ** -0.5 : view.k ** -0.4; // near, nodes do not swell; far, they do not vanish
    to.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    to.clearRect(0, 0, size.width, size.height);
    to.translate(view.x, view.y);
    to.scale(view.k, view.k);
    this.drawn.nodes = this.drawn.edges = 0;
    this.#look(scene);
    this.moving = scene.moving;
    this.#edges(scene);
    this.#walkLines(scene);
    this.#nodes(scene);
    to.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    this.drawn.labels = this.#labels.draw(scene, this.scale);
  }

  // What of the plane is seen: what lies beyond is not drawn.
  #look({ size, view }) {
    this.left = (-view.x - EDGE_MARGIN) / view.k;
    this.top = (-view.y - EDGE_MARGIN) / view.k;
    this.right = (size.width - view.x + EDGE_MARGIN) / view.k;
    this.bottom = (size.height - view.y + EDGE_MARGIN) / view.k;
  }

  #isSeen = ({ x, y }) => x >= this.left && x <= this.right && y >= this.top && y <= this.bottom;

  #crosses({ source, target }) {
    if (source.x < this.left && target.x < this.left) return false;
    if (source.x > this.right && target.x > this.right) return false;
    if (source.y < this.top && target.y < this.top) return false;
    return !(source.y > this.bottom && target.y > this.bottom);
  }

  #edges({ edges, lit, view, selected, active, walks }) {
    const to = this.#to;
    const walked = active || (walks.length > 0 && !selected); // then the walk itself is drawn over all edges
    to.strokeStyle = this.colours.edge;
    for (let width = 1; width <= 4; width += 1) {
      to.lineWidth = (width === 1 ? 0.8 : width * 1.1) / Math.sqrt(view.k);
      for (let bright = 0; bright < 2; bright += 1) {
        if (bright === 1 && (!lit || walked)) break;
        to.globalAlpha = lit && !bright ? DIMMED * 0.7 : 0.55;
        let batch = 0;
        to.beginPath();
        const most = bright === 1 ? edges.length : Math.min(edges.length, this.moving ? MOST_MOVING : MOST_EDGES);
        for (let at = 0; at < most; at += 1) {
          const edge = edges[at];
          if (edge.width !== width || !this.#crosses(edge)) continue;
          if (lit && !walked && isLit(edge, lit, selected) !== (bright === 1)) continue;
          to.moveTo(edge.source.x, edge.source.y);
          to.lineTo(edge.target.x, edge.target.y);
          this.drawn.edges += 1;
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
    if (active) {
      this.#line(active, byId, 4 / view.k, 1);
      this.#arrows(active, byId, view.k);
    }
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

  // Which way a walk went: from the seed to the answer.
  #arrows(walk, byId, k) {
    const to = this.#to;
    to.fillStyle = this.colours.walk;
    for (let hop = 1; hop < walk.length; hop += 1) {
      const from = byId.get(walk[hop - 1].node);
      const node = byId.get(walk[hop].node);
      if (!from || !node) continue;
      const angle = Math.atan2(node.y - from.y, node.x - from.x);
      const tip = node.r * this.scale * 1.3 + 2 / k;
      const [x, y] = [node.x - Math.cos(angle) * tip, node.y - Math.sin(angle) * tip];
      const long = 13 / k;
      to.beginPath();
      to.moveTo(x, y);
      to.lineTo(x - Math.cos(angle - 0.45) * long, y - Math.sin(angle - 0.45) * long);
      to.lineTo(x - Math.cos(angle + 0.45) * long, y - Math.sin(angle + 0.45) * long);
      to.fill();
    }
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
          if (node.kind !== kind || !this.#isSeen(node) || (lit && lit.has(node.id) !== (bright === 1))) continue;
          if (kind === "document" && expanded.has(node.id)) continue;
          const r = node.r * this.scale;
          if (r * view.k < DOT) to.rect(node.x - r, node.y - r, 2 * r, 2 * r);
          else trace(to, node.x, node.y, r);
          this.drawn.nodes += 1;
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
      to.fill();
      if (this.moving) return;
      to.strokeStyle = this.colours.ground;
      to.lineWidth = this.scale;
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
}

// Of a chosen node, the edges of it; of a walk, only the walk itself, which is drawn over them.
function isLit(edge, lit, selected) {
  if (selected) return edge.source === selected || edge.target === selected;
  return lit.has(edge.source.id) && lit.has(edge.target.id);
}

/** The edges with the heaviest of each node first, so that the first of them show the whole graph's shape. */
export function ranked(edges) {
  const counted = new Map();
  const places = new Map();
  for (const edge of edges) {
    const [one, other] = [counted.get(edge.source) ?? 0, counted.get(edge.target) ?? 0];
    places.set(edge, Math.min(one, other));
    counted.set(edge.source, one + 1);
    counted.set(edge.target, other + 1);
  }
  return [...edges].sort((a, b) => places.get(a) - places.get(b));
}

/** Of an edge, 1 to 4: how many of a document's chunks stand behind it, by its weight. */
export function widthOf(edge) {
  if (edge.kind !== "mentions" && edge.kind !== "about") return edge.kind === "supersedes" ? 2 : 1;
  const chunks = edge.chunks ?? edge.weight;
  return chunks >= 12 ? 4 : chunks >= 5 ? 3 : chunks > 1 ? 2 : 1;
}
