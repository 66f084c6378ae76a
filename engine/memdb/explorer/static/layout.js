// Where the nodes stand: forces in d3's simulation, in slices of animation frames that end.

import { IN_DOCUMENT } from "./model.js";
import { repulsion, spacing } from "./repulsion.js";

const SHARE = 0.5; // of the time between two frames that the forces may take
const SLICE = [10, 120]; // ms, the least and the most of it
const TICKS = 140; // from hot to still
const FEWER_TICKS = 90; // of many nodes: what is left to do is seen by nobody
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
  ticks = []; // ms of each step since nodes came or went

  constructor(moved) {
    const d3 = globalThis.d3;
    this.#moved = moved;
    this.#simulation = d3
      .forceSimulation()
      .stop()
      .velocityDecay(0.35)
      .force("link", d3.forceLink().distance((edge) => DISTANCE[edge.kind] ?? 50).strength(pull))
      .force("x", d3.forceX())
      .force("y", d3.forceY());
  }

  /** Take these nodes and edges; `heat` in 0..1 says how much may move. */
  set(nodes, edges, heat) {
    const many = nodes.length > MANY;
    this.ticks = [];
    const simulation = this.#simulation;
    simulation.alphaDecay(1 - 0.001 ** (1 / (many ? FEWER_TICKS : TICKS)));
    for (const node of nodes) node.fan = 1;
    for (const edge of edges) {
      edge.source.fan += 1;
      edge.target.fan += 1;
    }
    simulation.nodes(nodes);
    simulation.force("link").links(edges);
    simulation.force("charge", repulsion((node) => 30 + node.r * 7, { theta: many ? 1.2 : 0.9, reach: many ? 900 : 600 }));
    simulation.force("spacing", spacing(3, 0.7));
    simulation.force("x").strength(many ? 0.02 : 0.035);
    simulation.force("y").strength(many ? 0.025 : 0.045);
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
    let from = performance.now();
    for (;;) {
      this.#simulation.tick();
      const now = performance.now();
      this.ticks.push(now - from);
      from = now;
      if (now >= end || this.resting) break;
    }
    this.#frame = this.resting ? 0 : requestAnimationFrame(this.#step);
    this.#moved(this.resting);
  };
}
