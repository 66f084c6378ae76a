// The names on the picture: the most important first, each where there is room beside its node, more the closer one looks.

import { score, words } from "./dom.js";

const FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const FONT = `12px ${FAMILY}`;
const STRONG = `600 12px ${FAMILY}`;
const SMALL = `11px ${FAMILY}`;
const CELL = 8; // px of the grid that says what is taken
const MARGIN = 12; // cells beyond each side: a label may begin outside
const MOST = 220;
const TRIED = 1500; // nodes whose label is tried in one frame
const HALF = 8; // px, half of a label's height
const SPARED = 300; // nodes that no label lies over: of a dense picture the most important ones
const CALM = 40; // lit nodes up to which each of them has its label, room or not
const FIRST = 8; // nodes, the most connected, that have their label over lesser nodes where there is no other room
const NODE = 1; // what takes a place on the grid
const LABEL = 2;

// Whether a score has more room below its node: where a line of the walk comes steeply from above, and none from below.
function isBelow({ x, y }, ...others) {
  const steep = others.filter((other) => other && Math.abs(other.y - y) > Math.abs(other.x - x));
  return steep.some((other) => other.y < y) && !steep.some((other) => other.y > y);
}

/** Draws the labels of a scene; see `Drawing`, which owns the colours. */
export class Labels {
  #to;
  #colours;
  #taken = new Uint8Array(0);
  #columns = 0;
  #rows = 0;
  #x = 0;
  #y = 0;
  #width = 0;

  constructor(context, colours) {
    this.#to = context;
    this.#colours = colours;
  }

  /** `scale` is how much nodes are drawn larger than their radius. Gives how many labels there are beside those of a walk. */
  draw(scene, scale) {
    const { nodes, view, lit, selected, hovered, active, byId, seeds } = scene;
    const to = this.#to;
    to.textBaseline = "middle";
    to.lineJoin = "round";
    this.#clear(scene, scale);
    if (active) this.#walk(active, byId, view, scale, seeds);
    to.font = STRONG;
    let labels = 0;
    for (const node of [selected, hovered]) if (node && !this.#walked(active, node) && this.#label(node, view, scale, { always: true })) labels += 1;
    to.font = FONT;
    let left = view.k > 1.6 ? MOST : 14 + 50 * view.k;
    const calm = lit !== null && lit.size <= CALM && !active;
    const all = lit && calm ? [...lit].map((id) => byId.get(id)).filter(Boolean).sort((a, b) => b.degree - a.degree) : nodes;
    for (let at = 0; at < all.length && at < TRIED && (left > 0 || calm); at += 1) {
      const node = all[at];
      if ((lit && !lit.has(node.id)) || node === selected || node === hovered || this.#walked(active, node)) continue;
      if (!this.#label(node, view, scale, { always: calm, over: calm || at < FIRST, note: seeds?.get(node.id) })) continue;
      left -= 1;
      labels += 1;
    }
    return labels;
  }

  #walked = (active, node) => active?.some((hop) => hop.node === node.id) ?? false;

  // The grid moves with the picture, so that a label stays where it is while one pans.
  #clear({ size, view, nodes, lit }, scale) {
    this.#x = (((view.x % CELL) + CELL) % CELL) - CELL * MARGIN;
    this.#y = (((view.y % CELL) + CELL) % CELL) - CELL * MARGIN;
    this.#width = size.width;
    this.#columns = Math.ceil(size.width / CELL) + 2 * MARGIN;
    this.#rows = Math.ceil(size.height / CELL) + 2 * MARGIN;
    const cells = this.#columns * this.#rows;
    if (this.#taken.length < cells) this.#taken = new Uint8Array(cells);
    else this.#taken.fill(0);
    for (let at = 0, spared = 0; at < nodes.length && spared < SPARED; at += 1) {
      const node = nodes[at];
      if (lit && !lit.has(node.id)) continue;
      spared += 1;
      const r = Math.max(node.r * scale * view.k - 3, 1);
      const x = node.x * view.k + view.x;
      const y = node.y * view.k + view.y;
      this.#mark(x - r, y - r, x + r, y + r, NODE);
    }
  }

  #column = (x) => Math.floor((x - this.#x) / CELL);
  #row = (y) => Math.floor((y - this.#y) / CELL);

  #mark(left, top, right, bottom, as = LABEL) {
    const columns = this.#columns;
    const from = Math.max(0, this.#column(left));
    const until = Math.min(columns - 1, this.#column(right));
    const last = Math.min(this.#rows - 1, this.#row(bottom));
    for (let row = Math.max(0, this.#row(top)); row <= last; row += 1) {
      for (let cell = from; cell <= until; cell += 1) this.#taken[row * columns + cell] = as;
    }
  }

  // `over` says what may be covered.
  #isFree(left, top, right, bottom, over = 0) {
    const columns = this.#columns;
    if (left < 0 || right > this.#width) return false;
    const from = this.#column(left);
    const until = this.#column(right);
    const first = this.#row(top);
    const last = this.#row(bottom);
    if (first < 0 || last >= this.#rows) return false;
    for (let row = first; row <= last; row += 1) {
      for (let cell = from; cell <= until; cell += 1) if (this.#taken[row * columns + cell] > over) return false;
    }
    return true;
  }

  // Right of its node, else left, below or above; with `over` where it covers no more than nodes; `always` draws it on the
  // right where all is taken.
  #label(node, view, scale, { always = false, over = always, note = null }) {
    const to = this.#to;
    const x = node.x * view.k + view.x;
    const y = node.y * view.k + view.y;
    if (x < -60 || y < -20 || x > this.#columns * CELL || y > this.#rows * CELL) return false;
    const r = node.r * scale * view.k;
    const wide = to.measureText(node.short).width;
    const gap = r * 1.15 + 5;
    const places = [[x + gap, y], [x - gap - wide, y], [x - wide / 2, y + r + 11], [x - wide / 2, y - r - 11]];
    const low = note ? HALF + 14 : HALF;
    const free = (what) => places.find(([left, middle]) => this.#isFree(left, middle - HALF, left + wide, middle + low, what));
    const place = free(0) ?? (over ? free(NODE) : null) ?? (always ? places[0] : null);
    if (!place) return false;
    this.#mark(place[0], place[1] - HALF, place[0] + wide, place[1] + HALF);
    this.#text(node.short, place[0], place[1], this.#colours.text);
    if (note) this.#note(note, place[0], place[1] + 14);
    return true;
  }

  #note(text, x, y) {
    const to = this.#to;
    const font = to.font;
    to.font = SMALL;
    this.#mark(x, y - HALF, x + to.measureText(text).width, y + HALF);
    this.#text(text, x, y, this.#colours.faint);
    to.font = font;
  }

  #text(text, x, y, colour) {
    const to = this.#to;
    to.strokeStyle = this.#colours.halo;
    to.lineWidth = 4;
    to.strokeText(text, x, y);
    to.fillStyle = colour;
    to.fillText(text, x, y);
  }

  // Of a walk: the running score over each node, what each hop is and weighs on its line, and what found the seed.
  #walk(walk, byId, view, scale, seeds) {
    const to = this.#to;
    const places = walk.map((hop) => {
      const node = byId.get(hop.node);
      return node && { node, x: node.x * view.k + view.x, y: node.y * view.k + view.y };
    });
    to.font = STRONG;
    for (const [at, place] of places.entries()) {
      if (!place) continue;
      const side = isBelow(place, places[at - 1], places[at + 1]) ? 1 : -1;
      this.#pill(score(walk[at].score), place.x, place.y + side * (place.node.r * scale * view.k + 15), true);
    }
    for (const [at, place] of places.entries()) {
      if (place) this.#label(place.node, view, scale, { always: true, note: at === 0 ? seeds?.get(place.node.id) : null });
    }
    to.font = SMALL;
    for (let at = 1; at < walk.length; at += 1) {
      const [one, other] = [places[at - 1], places[at]];
      const said = `${words(walk[at].edge)} ×${Number(walk[at].weight ?? 0).toFixed(2)}`;
      if (one && other) this.#onLine(said, one, other);
    }
  }

  // On its line where it covers neither a name nor a score; on a short one it is left to the words below the canvas.
  #onLine(text, one, other) {
    const half = this.#to.measureText(text).width / 2 + 7;
    for (const share of [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8]) {
      const [x, y] = [one.x + (other.x - one.x) * share, one.y + (other.y - one.y) * share];
      if (this.#isFree(x - half, y - 9, x + half, y + 9)) return this.#pill(text, x, y, false);
    }
  }

  #pill(text, x, y, full) {
    const to = this.#to;
    const width = to.measureText(text).width + 14;
    to.beginPath();
    to.roundRect(x - width / 2, y - 9, width, 18, 9);
    to.fillStyle = full ? this.#colours.walk : this.#colours.ground;
    to.fill();
    if (!full) {
      to.strokeStyle = this.#colours.walk;
      to.lineWidth = 1;
      to.stroke();
    }
    to.fillStyle = full ? this.#colours.ground : this.#colours.walk;
    to.textAlign = "center";
    to.fillText(text, x, y + 0.5);
    to.textAlign = "start";
    this.#mark(x - width / 2, y - 9, x + width / 2, y + 9);
  }
}
