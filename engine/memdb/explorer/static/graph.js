// The canvas: pointer, zoom and keys over the drawing. It holds what is chosen, hovered and walked.

import { exposed } from "./dom.js";
import { Drawing, ranked, widthOf } from "./drawing.js";
import { Layout } from "./layout.js";

const NEAR = 14; // px from a node's middle that still mean it
const LONGEST = 34; // letters of a label on the canvas
const CLOSEST = 6;
const FARTHEST = 0.05;
const STILL = 160; // ms without a movement after which all is drawn
const MANY = 1500; // nodes from which less is drawn while the picture moves

/** The graph on a canvas. `told` has `chosen(id)`, `opened(id)` and `hovered(node)`. */
export class Graph {
  #canvas;
  #told;
  drawing;
  #layout;
  #zoom;
  #tree = null;
  #frame = 0;
  #pointer = null;
  #stilled = 0;
  #fitted = false;
  #seen = 0; // px, how wide the canvas was
  #waiting = null; // ids to bring into view once all stands still
  below = () => 0; // px at the foot of the canvas that something else covers
  above = () => 0; // px at its top
  #moving = !matchMedia("(prefers-reduced-motion: reduce)").matches;

  constructor(canvas, told) {
    this.#canvas = canvas;
    this.#told = told;
    this.drawing = new Drawing(canvas.getContext("2d"));
    this.scene = {
      nodes: [], edges: [], byId: new Map(), expanded: new Set(), walks: [], active: null, seeds: null, lit: null, selected: null,
      hovered: null, moving: false, size: { width: 0, height: 0, ratio: 1 }, view: { x: 0, y: 0, k: 1 },
    };
    this.#layout = new Layout((resting) => {
      this.#tree = null;
      if (!this.#fitted) this.fit(false);
      if (resting) this.#rested();
      canvas.dataset.resting = resting;
      this.moved();
    });
    this.#listen();
  }

  #listen() {
    const d3 = globalThis.d3;
    const canvas = this.#canvas;
    this.#zoom = d3.zoom().scaleExtent([FARTHEST, CLOSEST]).on("zoom", (event) => {
      const { x, y, k } = event.transform;
      Object.assign(this.scene.view, { x, y, k });
      if (event.sourceEvent) {
        this.#fitted = true;
        this.#waiting = null;
      }
      this.moved();
    });
    const drag = d3
      .drag()
      .subject((event) => this.#subject(event))
      .on("drag", (event) => {
        const [x, y] = this.#place(event.sourceEvent);
        Object.assign(event.subject.node, { fx: x, fy: y });
        this.#layout.heat(0.12);
      })
      .on("end", (event) => Object.assign(event.subject.node, { fx: null, fy: null }));
    d3.select(canvas).call(drag).call(this.#zoom).on("dblclick.zoom", null);
    canvas.addEventListener("click", (event) => this.#click(event));
    canvas.addEventListener("pointermove", (event) => {
      this.#pointer = event;
      this.paint();
    });
    canvas.addEventListener("pointerleave", () => this.#hover(null));
    new ResizeObserver(() => this.#resize()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
  }

  #subject(event) {
    const node = this.#at(event.sourceEvent);
    return node ? { node, x: event.x, y: event.y } : null;
  }

  #resize() {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const ratio = Math.min(devicePixelRatio || 1, 2);
    this.scene.size = { width, height, ratio };
    if (width === this.#canvas.width / ratio && height === this.#canvas.height / ratio && width === this.#seen) return;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    const came = this.#seen === 0 && width > 0; // on a narrow window the canvas is there only when it is looked at
    this.#seen = width;
    if (came && this.scene.lit) this.fitTo([...this.scene.lit], false);
    else if (came || (!this.scene.walks.length && !this.scene.selected)) this.fit(false);
    this.#draw();
  }

  recolour() {
    this.drawing = new Drawing(this.#canvas.getContext("2d"));
    this.paint();
  }

  #place(event) {
    const box = this.#canvas.getBoundingClientRect();
    const { x, y, k } = this.scene.view;
    const point = event.touches?.[0] ?? event.changedTouches?.[0] ?? event;
    return [(point.clientX - box.left - x) / k, (point.clientY - box.top - y) / k];
  }

  #at(event) {
    const [x, y] = this.#place(event);
    const lit = this.scene.lit;
    this.#tree ??= globalThis.d3.quadtree(this.scene.nodes, (node) => node.x, (node) => node.y);
    const found = this.#tree.find(x, y, Math.max(NEAR / this.scene.view.k, 8));
    if (!lit || !found || lit.has(found.id)) return found ?? null;
    return found;
  }

  #click(event) {
    const node = this.#at(event);
    if (!node) return this.#told.chosen(null);
    if (node.kind === "document") this.#told.opened(node.id);
    return this.#told.chosen(node.id);
  }

  #hover(node) {
    if (this.scene.hovered === node) return;
    this.scene.hovered = node;
    this.#canvas.style.cursor = node ? "pointer" : "";
    this.#told.hovered(node);
    this.paint();
  }

  /** Show these nodes and edges; `heat` in 0..1 says how much may move. */
  set(model, heat) {
    const { nodes, edges } = model;
    this.scene.nodes = nodes;
    this.scene.edges = ranked(edges);
    this.scene.expanded = model.expanded;
    this.scene.byId = new Map(nodes.map((node) => [node.id, node]));
    this.neighbours = model.neighbours;
    for (const node of nodes) node.short = shortened(node);
    for (const edge of edges) edge.width = widthOf(edge);
    this.scene.selected = this.scene.byId.get(this.scene.selected?.id) ?? null;
    this.scene.hovered = null;
    this.#tree = null;
    this.#canvas.dataset.resting = String(heat === 0);
    this.#canvas.dataset.nodes = nodes.length;
    this.#canvas.dataset.edges = edges.length;
    this.#layout.set(nodes, edges, heat);
    this.#light();
  }

  /** Choose a node; null chooses none. Its neighbours stay bright. */
  select(id, { follow = false } = {}) {
    this.scene.selected = this.scene.byId.get(id) ?? null;
    this.#canvas.dataset.selected = this.scene.selected?.id ?? "";
    this.#light();
    if (follow && this.scene.selected) this.#follow(this.scene.selected);
  }

  /**
   * Draw the walks of a search, lists of hops; `active` is the one with its scores, or null; `seeds` says by id what found
   * the node from which walks start.
   */
  walk(walks, active, { fit = false, seeds = new Map() } = {}) {
    this.scene.walks = walks;
    this.scene.active = active;
    this.scene.seeds = seeds;
    this.#canvas.dataset.seeds = [...seeds].map(([id, found]) => `${id}=${found}`).join("\n");
    this.#canvas.dataset.walks = walks.length;
    this.#canvas.dataset.walk = active ? active.map((hop) => `${hop.node}=${hop.score}`).join("\n") : "";
    this.#light();
    if (fit) this.fitAfter((active ? [active] : walks).flat().map((hop) => hop.node));
  }

  #light() {
    const { walks, active, selected } = this.scene;
    const lit = new Set();
    for (const walk of active ? [active] : selected ? [] : walks) for (const hop of walk) lit.add(hop.node);
    if (selected && !active) {
      lit.add(selected.id);
      for (const one of this.neighbours.get(selected.id) ?? []) if (one.id !== undefined) lit.add(one.id);
    }
    this.scene.lit = lit.size ? lit : null;
    this.paint();
  }

  /** Draw what moved: of many nodes a moving picture shows less, and all once it stands still. */
  moved() {
    this.scene.moving = this.scene.nodes.length > MANY;
    clearTimeout(this.#stilled);
    if (this.scene.moving) {
      this.#stilled = setTimeout(() => {
        this.scene.moving = false;
        this.paint();
      }, STILL);
    }
    this.paint();
  }

  paint() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      if (this.#pointer) {
        const event = this.#pointer;
        this.#pointer = null;
        this.#hover(this.#at(event));
      }
      this.#draw();
    });
  }

  #draw() {
    if (this.scene.size.width) this.drawing.draw(this.scene);
  }

  /** How long each step of the layout took, in ms. */
  get ticks() {
    return this.#layout.ticks;
  }

  zoomBy(factor) {
    globalThis.d3.select(this.#canvas).call(this.#zoom.scaleBy, factor);
    this.#fitted = true;
  }

  fit(smooth = this.#moving) {
    this.fitTo(this.scene.nodes.map((node) => node.id), smooth);
  }

  /** Bring all into view, while they move and once they stand still. */
  fitAll() {
    this.#fitted = false;
    this.#waiting = null;
    this.fit(false);
  }

  /** Bring these nodes into view now, and again once they stand still. */
  fitAfter(ids) {
    this.fitTo(ids);
    this.#waiting = ids;
  }

  #rested() {
    this.#fitted = true;
    if (this.#waiting) this.fitTo(this.#waiting);
    this.#waiting = null;
  }

  /** Bring these nodes into view. */
  fitTo(ids, smooth = this.#moving) {
    const nodes = ids.map((id) => this.scene.byId.get(id)).filter((node) => node?.x !== undefined);
    const { clientWidth: width, clientHeight: height } = this.#canvas; // as it is now: the panel may just have come
    if (!nodes.length || !width) return;
    const xs = nodes.map((node) => node.x).sort((a, b) => a - b);
    const ys = nodes.map((node) => node.y).sort((a, b) => a - b);
    const cut = nodes.length > 60 ? Math.floor(nodes.length * 0.01) : 0; // a few strays do not make all small
    const [left, right] = [xs[cut], xs[xs.length - 1 - cut]];
    const [top, bottom] = [ys[cut], ys[ys.length - 1 - cut]];
    const few = nodes.length <= 60;
    const [above, below] = [this.above(), this.below()]; // what lies over the canvas
    const room = few ? Math.min(240, width * 0.3) : 40; // of few, the labels need room
    const wide = Math.max(width - room, 60);
    const high = Math.max(height - 60 - above - below, 60);
    const k = Math.max(FARTHEST, Math.min(wide / (right - left + 10), high / (bottom - top + 10), nodes.length > 1 ? 2 : 1.4));
    const shift = (below - above) / 2 / k;
    this.#to((left + right) / 2 + (few ? room / 6 / k : 0), (top + bottom) / 2 + shift, k, smooth);
  }

  #follow(node) {
    const { view } = this.scene;
    const size = { width: this.#canvas.clientWidth, height: this.#canvas.clientHeight };
    const x = node.x * view.k + view.x;
    const y = node.y * view.k + view.y;
    const below = this.below();
    const inside = x > 60 && y > 60 && x < size.width - 120 && y < size.height - 60 - below;
    const k = Math.max(view.k, 0.9);
    if (!inside || view.k < 0.5) this.#to(node.x, node.y + below / 2 / k, k, this.#moving);
  }

  #to(x, y, k, smooth) {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const d3 = globalThis.d3;
    const target = d3.zoomIdentity.translate(width / 2, height / 2).scale(k).translate(-x, -y);
    const canvas = d3.select(this.#canvas);
    canvas.interrupt();
    (smooth ? canvas.transition().duration(350) : canvas).call(this.#zoom.transform, target);
  }

  /** The neighbour of the chosen node that lies most nearly in a direction; without one, the most connected in view. */
  towards(dx, dy) {
    const from = this.scene.selected;
    if (!from) return this.scene.nodes[0]?.id ?? null;
    let best = null;
    let most = 0.2;
    for (const other of this.neighbours.get(from.id) ?? []) {
      if (other.id === undefined) continue;
      const length = Math.hypot(other.x - from.x, other.y - from.y) || 1;
      const fit = ((other.x - from.x) * dx + (other.y - from.y) * dy) / length - length / 5000;
      if (fit > most) [best, most] = [other, fit];
    }
    return best?.id ?? null;
  }
}

// Of a chunk the end is told, its own heading: it stands beside its document, whose title the label begins with.
function shortened({ label, kind }) {
  const letters = [...exposed(String(label))];
  if (letters.length <= LONGEST) return letters.join("");
  return kind === "chunk" ? `…${letters.slice(1 - LONGEST).join("")}` : `${letters.slice(0, LONGEST - 1).join("")}…`;
}
