// Search first: a question, its answers with what found them, and the walk from seed to answer with its scores.

import { get } from "./api.js";
import { byId, count, el, fill, note, nothing, score, shape, words } from "./dom.js";
import { kindOf, nameOf } from "./model.js";

const LIMIT = 8;
const STARTS = 10;
const ARM_NAMES = { vector: "meaning", keyword: "words", entity: "names" };

/** The search of the page: asks, shows the results, draws the walks. */
export class Search {
  #app;
  #asking = null;
  #again = false; // whether the store changed since it was asked
  answer = null;
  error = null;
  chosen = null;
  query = "";

  constructor(app) {
    this.#app = app;
    const field = byId("search");
    byId("search-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask(field.value);
    });
    field.addEventListener("search", () => field.value || this.clear());
    field.addEventListener("input", () => field.value || this.clear());
  }

  /** Ask the store; the answer of the last question is the one that is shown. `linked`: by an address, not by a person. */
  async ask(query, { keep = false, linked = false } = {}) {
    const asked = query.trim();
    if (!asked) return this.clear();
    if (keep && this.#asking) {
      this.#again = true; // an answer that is on its way is not given up: a store that changes all the time would never answer
      return;
    }
    this.#again = false;
    this.#asking?.abort();
    this.#asking = new AbortController();
    const asking = this.#asking;
    this.query = asked;
    if (!keep) {
      this.chosen = null;
      this.answer = null;
      this.error = null;
      this.#app.openTab("results");
    }
    try {
      this.answer = await get(["search"], { q: asked, limit: LIMIT }, asking.signal);
      this.error = null;
    } catch (error) {
      if (error.name === "AbortError") return;
      this.answer = null;
      this.error = error;
    }
    if (asking !== this.#asking) return;
    this.#asking = null;
    const open = keep ? this.chosen : this.#app.panel.id; // of an address with both, the walk to its node is drawn
    this.chosen = this.answer?.hits.some((hit) => hit.id === open) ? open : null;
    // What was open before is no answer to this: the walks are looked at. Where an address names both, both are shown.
    if (!keep && !linked && !this.chosen) this.#app.letGo();
    this.#draw(!keep);
    await this.#app.refreshTab("results");
    if (this.#again) await this.ask(asked, { keep: true });
  }

  get busy() {
    return this.#asking !== null;
  }

  /** Forget the question. */
  clear() {
    this.#asking?.abort();
    this.#asking = null;
    this.#again = false;
    this.query = "";
    this.answer = null;
    this.error = null;
    this.chosen = null;
    byId("search").value = "";
    this.#draw(false);
    this.#app.refreshTab("results");
  }

  /** Draw one answer's walk with its scores and open it; its walk is the bright one. */
  choose(id) {
    this.chosen = id;
    this.#app.choose(id, { keepWalk: true });
    this.mark();
    this.#draw(true);
  }

  /** Let go of the one answer, and show the walks of all. */
  release() {
    if (!this.chosen) return;
    this.chosen = null;
    this.#draw(false);
    this.mark();
  }

  mark() {
    for (const row of byId("list").querySelectorAll(".hit")) {
      row.setAttribute("aria-current", row.dataset.id === this.chosen ? "true" : "false");
    }
  }

  #draw(fit) {
    const hits = this.answer?.hits ?? [];
    const walks = hits.map((hit) => hit.path);
    const chosen = hits.find((hit) => hit.id === this.chosen) ?? null;
    const active = chosen?.path ?? null;
    this.#tell(chosen);
    const seeds = new Map(walks.filter((walk) => walk.length).map(([seed]) => [seed.node, armsOf(this.answer, seed.node).map(armSaid).join(" · ")]));
    this.#app.drawWalks(walks, active, this.answer?.nodes ?? {}, hits, fit, seeds);
  }

  // The walk in words, below the canvas: for who cannot see it, and where the canvas is small.
  #tell(hit) {
    const place = byId("walked");
    place.hidden = !hit;
    if (hit) fill(place, el("ol", { class: "walk", "aria-label": "Walk from seed to answer" }, walkSteps(this.#app, hit.path, this.answer), walkSum(hit)));
  }

  show(into) {
    if (this.busy && !this.answer) return fill(into, el("p", { class: "loading" }, "Searching…"));
    if (this.error) return fill(into, nothing(this.error.message, this.error.hint));
    if (!this.answer) return fill(into, this.#welcome());
    const { hits, notes = [], arms = {}, empty_message: empty } = this.answer;
    const head = [armLine(arms), notes.map((one) => note(one))];
    if (!hits.length) {
      return fill(into, head, nothing(empty ?? "Nothing answers this."));
    }
    return fill(
      into,
      head,
      el("p", { class: "faint" }, `${count(hits.length, "answer")}, best first`),
      el("ol", { class: "rows hits", "aria-label": "Results" }, hits.map((hit, at) => this.#hit(hit, at))),
    );
  }

  #welcome() {
    const total = this.#app.total();
    if (total === 0) {
      return nothing("The store is empty.", "Save a first memory: `memdb save feedback/my-first-note`", "Or add documents: `memdb add FOLDER`");
    }
    return [
      nothing("Ask anything.", "Results come with the way that led to each: which arms found the seed, and every hop of the walk with its score."),
      this.#starts(),
    ];
  }

  // Before a question: the nodes from which most is reached.
  #starts() {
    const kinds = new Set(["memory", "document", "entity"]);
    const nodes = this.#app.model.nodes.filter((node) => kinds.has(node.kind)).slice(0, STARTS);
    if (!nodes.length) return null;
    return [
      el("h2", {}, "Or begin where most meets"),
      el("ul", { class: "rows starts", "aria-label": "Most connected" }, nodes.map((node) => this.#start(node))),
    ];
  }

  #start(node) {
    return el(
      "li",
      {},
      el(
        "button",
        { type: "button", class: "row", data: { id: node.id }, onclick: () => this.#app.choose(node.id) },
        shape(node.kind),
        el("span", { class: "row-main" }, el("span", { class: "row-title" }, el("span", {}, node.label), node.type && el("span", { class: "tagged" }, node.type))),
        el("span", { class: "row-note" }, count(node.degree, "edge")),
      ),
    );
  }

  #hit(hit, at) {
    const found = Object.entries(hit.arms ?? {});
    return el(
      "li",
      {},
      el(
        "button",
        {
          type: "button", class: "row hit", data: { id: hit.id }, onclick: () => this.choose(hit.id),
          "aria-current": hit.id === this.chosen ? "true" : "false",
        },
        el("span", { class: "rank" }, at + 1),
          shape(hit.kind),
        el(
          "span",
          { class: "row-main" },
          el("span", { class: "row-title" }, el("span", {}, hit.name || nameOf(hit.id)), hit.type && el("span", { class: "tagged" }, hit.type)),
          hit.description && el("span", { class: "row-text" }, hit.description),
          el("span", { class: "row-note", title: hit.citation?.text ?? null }, hit.citation ? cited(hit.citation) : hit.file ?? ""),
          el("span", { class: "badges" }, found.map(([arm, one]) => armBadge(arm, one)), pathBadge(hit), reasonBadges(hit), markBadges(hit)),
        ),
        el("span", { class: "score", title: "Score, 0 to 1" }, score(hit.score), el("meter", { min: 0, max: 1, value: hit.score, "aria-hidden": "true" })),
      ),
    );
  }
}

function cited(citation) {
  if (typeof citation === "string") return citation;
  const place = [nameOf(citation.document), ...(citation.heading_path ?? [])].join(" › ");
  if (citation.page) return `${place}, page ${citation.page}`;
  const { start_line: first, end_line: last } = citation;
  if (!first) return place;
  return last && last !== first ? `${place}, lines ${first}–${last}` : `${place}, line ${first}`;
}

function armBadge(arm, found) {
  const share = found.share === null || found.share === undefined ? "" : `, has ${Math.round(found.share * 100)} % of the words`;
  const title = `${arm} arm: rank ${found.rank}, similarity ${found.similarity.toFixed(3)}${share}`;
  return el("span", { class: `badge arm-${arm}`, title }, armSaid([arm, found]));
}

/** What speaks for a text beside arms and path: a time, a speaker. */
function reasonBadges(hit) {
  return (hit.reasons ?? []).map((reason) => el("span", { class: "badge", title: reason }, reason.split(", within")[0]));
}

function pathBadge(hit) {
  const hops = hit.path.length - 1;
  return hops > 0 && el("span", { class: "badge badge-walk", title: `Walked from ${hit.path[0].node}` }, count(hops, "hop"));
}

/** What speaks against taking a text as it stands. */
export function markBadges(marked) {
  const said = [
    marked.superseded_by?.length && `superseded by ${marked.superseded_by.map(nameOf).join(", ")}`,
    marked.contradicts?.length && `contradicts ${marked.contradicts.map(nameOf).join(", ")}`,
    marked.conflicts?.length && `in ${count(marked.conflicts.length, "open conflict")}`,
    marked.retired?.length && `decided against: ${marked.retired.join(", ")}`,
    marked.stale && "stale",
    marked.secret && "holds a secret",
    marked.suspect?.length && marked.suspect.join(", "),
    marked.missing && "file missing",
  ];
  return said.filter(Boolean).map((text) => el("span", { class: "badge badge-mark" }, text));
}

function armLine(arms) {
  const parts = Object.entries(arms).map(([arm, { state, candidates, reason }]) =>
    el(
      "span",
      { class: state === "on" ? `badge arm-${arm}` : "badge badge-off", title: reason ?? `${candidates} candidates` },
      state === "on" ? `${ARM_NAMES[arm] ?? arm} ${candidates}` : `${ARM_NAMES[arm] ?? arm} off`,
    ),
  );
  const off = Object.entries(arms).filter(([, arm]) => arm.state !== "on" && arm.reason);
  return [
    el("p", { class: "arms", "aria-label": "Arms and their candidates" }, parts),
    off.map(([arm, { reason }]) => note(`Without ${ARM_NAMES[arm] ?? arm}: ${reason}`)),
  ];
}

// What found a seed: each arm with the rank that it gave.
function armsOf(answer, id) {
  const hit = answer.hits.find((one) => one.id === id);
  return Object.entries(answer.seeds?.find?.((one) => one.id === id)?.arms ?? hit?.arms ?? {});
}

const armSaid = ([arm, found]) => `${ARM_NAMES[arm] ?? arm} #${found.rank}`;

function walkSteps(app, path, answer) {
  const seedArms = armsOf(answer, path[0].node);
  return path.map((hop, at) =>
    el(
      "li",
      {},
      at > 0 && el("span", { class: "walk-edge" }, `${words(hop.edge)} ×${Number(hop.weight ?? 0).toFixed(2)}`),
      el(
        "button",
        { type: "button", class: "walk-node", onclick: () => app.choose(hop.node, { keepWalk: true }) },
        shape(kindOf(hop.node)),
        el("span", {}, answer.nodes?.[hop.node]?.label ?? app.labelOf(hop.node)),
        el("b", {}, score(hop.score)),
      ),
      hop.closeness != null && el("span", { class: "walk-note" }, `its own closeness: odds ×${Number(hop.closeness).toFixed(2)}`),
      at === 0 && el("span", { class: "badges" }, seedArms.map(([arm, found]) => armBadge(arm, found))),
    ),
  );
}

// Why an answer's score is another than its walk ends with: the walk and what the arms found of a text are two reasons.
function walkSum(hit) {
  const end = hit.path.at(-1)?.score ?? hit.score;
  if (score(end) === score(hit.score)) return null;
  const why =
    hit.score < end
      ? "less, for what replaces it"
      : hit.path.length > 1 && hit.fused !== null
        ? `and what the arms found of it, ${score(hit.fused)}`
        : "and a way that leads to it from other texts";
  return el("li", { class: "walk-sum" }, el("span", { class: "walk-note" }, `${why}: `), el("b", {}, score(hit.score)));
}
