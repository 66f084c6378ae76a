// Two forces over flat arrays: nodes push each other away, and do not lie over one another.
// d3's own do the same over a tree of objects, in three times the time for thousands of nodes.

const DEEPEST = 24; // halvings of the picture: what still shares a cell then lies on one place
const NEAREST = 1; // px² below which a push grows no further

/**
 * Barnes and Hut's approximation (Nature 324, 1986): what is far acts from its middle. `strength(node)` is how much a node
 * pushes, `theta` how wide a cell may look to be taken as one, `reach` in px how far a push goes.
 */
export function repulsion(strength, { theta = 1, reach = Infinity } = {}) {
  let nodes = [];
  let pushes = new Float64Array(0);
  let tree = new Tree(0);

  function force(alpha) {
    tree.build(nodes, pushes);
    for (const [at, node] of nodes.entries()) tree.push(node, at, alpha, theta * theta, reach * reach);
  }

  force.initialize = (given) => {
    nodes = given;
    pushes = Float64Array.from(nodes, strength);
    tree = new Tree(nodes.length);
  };
  return force;
}

// Cell 0 is all; a cell has four children, or a first body of a chain. A child comes after its parent.
class Tree {
  #cells = 0;

  constructor(count) {
    this.chained = new Int32Array(count); // the next body of the same cell
    this.#room(4 * count + 64);
  }

  #room(cells) {
    const grown = (kind, old, size) => {
      const made = new kind(size);
      if (old) made.set(old);
      return made;
    };
    this.children = grown(Int32Array, this.children, 4 * cells);
    this.first = grown(Int32Array, this.first, cells);
    this.mass = grown(Float64Array, this.mass, cells);
    this.x = grown(Float64Array, this.x, cells);
    this.y = grown(Float64Array, this.y, cells);
    this.width = grown(Float64Array, this.width, cells);
  }

  #cell(width) {
    if (this.#cells === this.first.length) this.#room(2 * this.#cells);
    const cell = this.#cells;
    this.#cells += 1;
    this.children.fill(0, 4 * cell, 4 * cell + 4);
    this.first[cell] = -1;
    this.mass[cell] = this.x[cell] = this.y[cell] = 0;
    this.width[cell] = width;
    return cell;
  }

  build(nodes, pushes) {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const { x, y } of nodes) {
      if (x < left) left = x;
      if (x > right) right = x;
      if (y < top) top = y;
      if (y > bottom) bottom = y;
    }
    this.nodes = nodes;
    this.pushes = pushes;
    this.#cells = 0;
    this.#cell(Math.max(right - left, bottom - top, 1) * 1.0001);
    for (let at = 0; at < nodes.length; at += 1) this.#insert(at, left, top);
    this.#weigh();
  }

  #insert(body, left, top) {
    const { x, y } = this.nodes[body];
    let cell = 0;
    for (let depth = 0; ; depth += 1) {
      const there = this.first[cell];
      if (this.#isLeaf(cell)) {
        if (there < 0 || depth >= DEEPEST) {
          this.chained[body] = there;
          this.first[cell] = body;
          return;
        }
        this.first[cell] = -1; // what was alone here goes one deeper
        const moved = this.nodes[there];
        const half = this.width[cell] / 2;
        const into = this.#child(cell, (moved.x >= left + half ? 1 : 0) + (moved.y >= top + half ? 2 : 0));
        this.chained[there] = -1;
        this.first[into] = there;
      }
      const half = this.width[cell] / 2;
      const east = x >= left + half ? 1 : 0;
      const south = y >= top + half ? 1 : 0;
      cell = this.#child(cell, east + 2 * south);
      left += east * half;
      top += south * half;
    }
  }

  #isLeaf(cell) {
    const { children } = this;
    const at = 4 * cell;
    return !(children[at] || children[at + 1] || children[at + 2] || children[at + 3]);
  }

  #child(cell, quarter) {
    const known = this.children[4 * cell + quarter];
    if (known) return known;
    const made = this.#cell(this.width[cell] / 2);
    this.children[4 * cell + quarter] = made;
    return made;
  }

  // From the last cell to the first: children before their parents.
  #weigh() {
    const { nodes, pushes, chained, children, first, mass, x, y } = this;
    for (let cell = this.#cells - 1; cell >= 0; cell -= 1) {
      for (let body = first[cell]; body >= 0; body = chained[body]) {
        mass[cell] += pushes[body];
        x[cell] += pushes[body] * nodes[body].x;
        y[cell] += pushes[body] * nodes[body].y;
      }
      for (let at = 4 * cell; at < 4 * cell + 4; at += 1) {
        const child = children[at];
        if (!child) continue;
        mass[cell] += mass[child];
        x[cell] += mass[child] * x[child];
        y[cell] += mass[child] * y[child];
      }
      x[cell] /= mass[cell];
      y[cell] /= mass[cell];
    }
  }

  push(node, self, alpha, theta2, reach2) {
    const { nodes, pushes, chained, children, first, mass, width } = this;
    const stack = STACK;
    let height = 1;
    stack[0] = 0;
    let vx = 0;
    let vy = 0;
    while (height > 0) {
      height -= 1;
      const cell = stack[height];
      const dx = node.x - this.x[cell];
      const dy = node.y - this.y[cell];
      const far = dx * dx + dy * dy;
      const body = first[cell];
      if (body < 0 && width[cell] * width[cell] < theta2 * far) {
        if (far < reach2) {
          const much = (mass[cell] * alpha) / far;
          vx += dx * much;
          vy += dy * much;
        }
        continue;
      }
      for (let other = body; other >= 0; other = chained[other]) {
        if (other === self) continue;
        let ox = node.x - nodes[other].x;
        let oy = node.y - nodes[other].y;
        if (ox === 0 && oy === 0) [ox, oy] = [Math.sin(self + 1) * 1e-3, Math.cos(other + 1) * 1e-3];
        const near = ox * ox + oy * oy;
        if (near >= reach2) continue;
        const much = (pushes[other] * alpha) / (near < NEAREST ? Math.sqrt(near * NEAREST) : near);
        vx += ox * much;
        vy += oy * much;
      }
      for (let at = 4 * cell; at < 4 * cell + 4; at += 1) {
        if (children[at]) {
          stack[height] = children[at];
          height += 1;
        }
      }
    }
    node.vx += vx;
    node.vy += vy;
  }
}

const STACK = new Int32Array(4 * (DEEPEST + 2));

/** Nodes keep `gap` px between their edges, as far as `strength` in 0..1 gives way in each step. */
export function spacing(gap, strength) {
  let nodes = [];
  let cell = 1;
  const grid = new Map();

  function force() {
    grid.clear();
    for (const node of nodes) {
      const at = place(node.x, node.y);
      node.under = grid.get(at) ?? null; // the next one of the same cell
      grid.set(at, node);
    }
    for (const node of nodes) {
      for (let row = -1; row <= 1; row += 1) {
        for (let column = -1; column <= 1; column += 1) {
          let other = grid.get(place(node.x + column * cell, node.y + row * cell)) ?? null;
          for (; other; other = other.under) if (node.index < other.index) part(node, other);
        }
      }
    }
  }

  const place = (x, y) => Math.floor(x / cell) * 65_536 + Math.floor(y / cell);

  function part(one, other) {
    const least = one.r + other.r + gap;
    const dx = one.x + one.vx - other.x - other.vx;
    const dy = one.y + one.vy - other.y - other.vy;
    const far = dx * dx + dy * dy;
    if (far >= least * least || far === 0) return;
    const between = Math.sqrt(far);
    const much = ((least - between) / between) * strength;
    const share = (other.r * other.r) / (one.r * one.r + other.r * other.r);
    one.vx += dx * much * share;
    one.vy += dy * much * share;
    other.vx -= dx * much * (1 - share);
    other.vy -= dy * much * (1 - share);
  }

  force.initialize = (given) => {
    nodes = given;
    cell = 2 * nodes.reduce((most, node) => Math.max(most, node.r), 1) + gap;
  };
  return force;
}
