// Where the nodes stand: d3's forces, in slices of animation frames that end.

import { IN_DOCUMENT } from "./model.js";

const SHARE = 0.5; // of the time between two frames that the forces may take
const SLICE = [10, 120]; // ms, the least and the most of it
const TICKS = 140; // from hot to still
const MANY = 1500; // nodes from which exactness gives way to speed

const DISTANCE = { in_document: 18, next: 18, mentions: 46, about: 40, has_tag: 52, in_cluster: 60 };

// A chunk stays with its document, whatever else it is joined to; otherwise a hub pulls the less the more it has.
function pull(edge) {
  if (edge.kind === IN_DOCUMENT) return 0.9;
  if (edge.source.kind === "chunk") return 0.01;
  return 1 / Math.min(edge.source.fan, edge.target.fan);
}

/** A layout that calls `moved` after each slice, and rests once nothing moves much. */
export class Layout {
  #simulation;
  #frame = 0;
  #last = 0;
  #moved;

  constructor(moved) {
    const d3 = globalThis.d3;
    this.#moved = moved;
    this.#simulation = d3
      .forceSimulation()
      .stop()
      .alphaDecay(1 - 0.001 ** (1 / TICKS))
      .velocityDecay(0.35)
      .force("link", d3.forceLink().distance((edge) => DISTANCE[edge.kind] ?? 50).strength(pull))
      .force("charge", d3.forceManyBody().distanceMax(600))
      .force("x", d3.forceX().strength(0.035))
      .force("y", d3.forceY().strength(0.045))
      .force("collide", d3.forceCollide((node) => node.r + 3));
  }

  /** Take these nodes and edges; `heat` in 0..1 says how much may move. */
  set(nodes, edges, heat) {
    const many = nodes.length > MANY;
    const simulation = this.#simulation;
    for (const node of nodes) node.fan = 1;
    for (const edge of edges) {
      edge.source.fan += 1;
      edge.target.fan += 1;
    }
    simulation.nodes(nodes);
    simulation.force("link").links(edges);
    simulation.force("charge").theta(many ? 1.3 : 0.9).strength((node) => -30 - node.r * (many ? 3 : 7));
    simulation.force("collide").iterations(1).strength(many ? 0 : 0.7);
    this.heat(heat);
  }

  heat(alpha) {
    this.#simulation.alpha(Math.max(alpha, this.resting ? 0 : this.#simulation.alpha()));
    if (this.#frame || this.resting) return;
    this.#last = performance.now();
    this.#frame = requestAnimationFrame(this.#step);
  }

  get resting() {
    return this.#simulation.alpha() < this.#simulation.alphaMin();
  }

  #step = (now) => {
    const [least, most] = SLICE;
    const end = performance.now() + Math.min(most, Math.max(least, (now - this.#last) * SHARE));
    this.#last = now;
    do this.#simulation.tick();
    while (performance.now() < end && !this.resting);
    this.#frame = this.resting ? 0 : requestAnimationFrame(this.#step);
    this.#moved(this.resting);
  };
}
