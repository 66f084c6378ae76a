// The page: it holds the parts together, and says what is chosen.

import { canWrite, get, WRITE_HELP } from "./api.js";
import { byId, coded, count, el, fill, note } from "./dom.js";
import { failed, isWriting, toast } from "./edit.js";
import { showFilters } from "./filters.js";
import { Graph } from "./graph.js";
import { startKeys } from "./keys.js";
import { Lists, LOOSE } from "./lists.js";
import { listen } from "./live.js";
import { documentOf, IN_DOCUMENT, kindOf, Model, nameOf } from "./model.js";
import { edgesOf, Panel } from "./panel.js";
import { Search } from "./search.js";

const BROUGHT = 60; // neighbours that come with a node from beyond the first view
const FIRST_LIMIT = 1000; // nodes of the first view: the most connected; search reaches the others

const modelHelp = (reason) =>
  /switched off/.test(reason) ? "Unset `MEMDB_EMBEDDER` and start `memdb ui` again to use them." : "Install a model with `pip install 'memdb-engine[local]'`, then start `memdb ui` again.";

// What the address says is shown; both are empty where it says nothing.
function addressed() {
  const asked = new URLSearchParams(location.hash.slice(1));
  return { q: (asked.get("q") ?? "").trim(), node: asked.get("node") ?? "" };
}

// How much of the foot of the canvas others lie over: the walk in words; on a narrow window the panel too.
function covered(canvas, ...others) {
  const { left, right, bottom } = canvas.getBoundingClientRect();
  const tops = others.map((one) => one.getBoundingClientRect()).filter((box) => box.height && box.left < right && box.right > left).map((box) => box.top);
  return Math.max(0, bottom - Math.min(bottom, ...tops));
}

class App {
  #following = false; // whether what is shown is being made what the address says
  model = new Model();
  graph = null;
  limit = FIRST_LIMIT;

  start() {
    if (globalThis.d3) {
      this.graph = new Graph(byId("canvas"), {
        chosen: (id) => this.choose(id),
        opened: (id) => this.toggle(id),
        hovered: (node) => (byId("canvas").title = node ? `${node.label} (${node.kind})` : ""),
      });
      this.graph.below = () => covered(byId("canvas"), byId("walked"), byId("panel"));
      this.graph.above = () => byId("filters").offsetTop + byId("filters").offsetHeight + 6;
    } else {
      this.#cover(
        "The graph cannot be drawn: its library is missing, or is another version than this page knows.",
        el("p", { class: "faint" }, coded("Install it and start `memdb ui` again: `pip install 'memdb-engine[ui]'`")),
        el("p", { class: "faint" }, "Search and the lists work without it."),
      );
      for (const id of ["zoom-in", "zoom-out", "zoom-all"]) byId(id).disabled = true;
    }
    this.panel = new Panel(this);
    this.search = new Search(this);
    this.lists = new Lists(this);
    startKeys(this);
    this.#buttons();
    this.openTab("results");
    this.#follow();
    // While a write of this page is under way, what it renames is not asked for by its old id.
    const look = async () => {
      while (isWriting()) await new Promise((done) => setTimeout(done, 300));
      await this.changed({ told: true });
    };
    listen(look, { lost: () => this.#offline(true), back: () => this.#offline(false) });
    globalThis.memdbReady = this.reload(1).then(() => this.#counts());
  }

  #buttons() {
    for (const button of document.querySelectorAll(".switch button")) button.addEventListener("click", () => this.view(button.dataset.to));
    byId("zoom-in").addEventListener("click", () => this.graph?.zoomBy(1.4));
    byId("zoom-out").addEventListener("click", () => this.graph?.zoomBy(1 / 1.4));
    byId("zoom-all").addEventListener("click", () => this.graph?.fit());
    const state = byId("write-state");
    state.hidden = canWrite;
    state.title = WRITE_HELP;
    state.addEventListener("click", () => toast(WRITE_HELP));
    addEventListener("readonly", () => (state.hidden = false));
    addEventListener("hashchange", () => this.#follow());
  }

  #offline(gone) {
    const said = note("The server does not answer. Start it again with `memdb ui`: this page goes on by itself.", { class: "note-offline" });
    if (gone) byId("notices").prepend(said);
    else for (const one of byId("notices").querySelectorAll(".note-offline")) one.remove();
  }

  // `#node=ID` and `#q=QUESTION` lead to a node or a search: the address can be kept and shared.
  #follow() {
    const { q, node } = addressed();
    this.#following = true;
    if (q !== this.search.query) {
      byId("search").value = q;
      if (q) this.search.ask(q, { linked: true });
      else this.search.clear();
    }
    if (node !== (this.panel.id ?? "")) this.choose(node || null, { keepWalk: Boolean(q) });
    this.#following = false;
  }

  // The address of what is shown. Each search and each node is a step that the back button takes back.
  #address({ step = true } = {}) {
    const now = { q: this.search.query, node: this.panel.id ?? "" };
    document.title = [this.panel.node?.label, now.q, "memdb explorer"].filter(Boolean).join(" · ");
    const before = addressed();
    if (this.#following || before.q === now.q && before.node === now.node) return;
    const asked = new URLSearchParams(Object.entries(now).filter(([, value]) => value));
    const place = asked.size ? `#${asked}` : location.pathname + location.search;
    if (step) history.pushState(null, "", place);
    else history.replaceState(null, "", place);
  }

  #cover(text, ...more) {
    const cover = byId("cover");
    cover.hidden = text === null;
    if (text !== null) fill(cover, el("p", {}, text), more);
  }

  /** Read the graph again; what is known keeps its place. */
  async reload(heat) {
    let answer;
    try {
      answer = await get(["graph"], { limit: this.limit, rollup: 1, types: this.model.asked() });
    } catch (error) {
      this.#cover(error.message, el("p", { class: "faint" }, coded(error.hint)), el("button", { type: "button", onclick: () => this.reload(1) }, "Try again"));
      return;
    }
    const total = answer.total ?? { nodes: answer.nodes.length };
    this.model.total = total;
    this.model.truncated = answer.truncated ?? false;
    this.model.put("base", answer);
    if (this.graph) {
      this.#cover(total.nodes || this.model.type ? null : "Nothing to draw yet. The store is empty.");
      this.redraw(heat);
    } else this.model.join();
    const shown = answer.truncated ? `${answer.nodes.length.toLocaleString("en")} of ` : "";
    const said = this.model.type ? count(this.model.nodes.length, "node") : `${shown}${count(total.nodes, "node")}`;
    byId("totals").textContent = total.nodes ? said : "";
    if (this.lists.open === "results" && !this.search.query) this.lists.refresh("results");
  }

  /** Join the layers and draw; what is new may move, the rest hardly does. */
  redraw(heat = 0.3) {
    if (!this.graph) return;
    this.model.join();
    const fresh = this.model.nodes.some((node) => node.x === undefined);
    this.graph.set(this.model, fresh ? Math.max(heat, 0.35) : heat);
    showFilters(this, () => this.redraw(0.1), (limit) => {
      this.limit = limit ?? this.limit;
      this.reload(0.8).then(() => this.graph.fitAll());
    });
    byId("canvas").setAttribute("aria-label", `Graph of ${count(this.model.nodes.length, "node")} and ${count(this.model.edges.length, "edge")}`);
  }

  /** Choose a node: the panel shows it, the canvas lights it. null lets go of all. */
  async choose(id, { keepWalk = false, step = true } = {}) {
    if (id === null) {
      this.panel.close();
      if (!keepWalk) this.search.release();
      this.graph?.select(null);
      this.#address({ step });
      return;
    }
    if (!keepWalk && !this.graph?.scene.active?.some((hop) => hop.node === id)) this.search.release();
    const reading = this.panel.show(id); // first: the canvas is narrower with it
    this.graph?.select(id, { follow: !keepWalk });
    this.#address({ step });
    const node = await reading;
    if (!node || this.panel.id !== id) return;
    this.#address({ step });
    byId("said").textContent = `${node.label}, ${node.kind}, ${count(edgesOf(node).length, "edge")}`;
    if (this.graph && !this.model.has(id)) this.#bring(node, keepWalk);
    else if (this.graph && this.graph.scene.selected?.id !== id) this.graph.select(id, { follow: !keepWalk }); // the graph came later
  }

  /** Close the panel, for what is shown next; the address is that of what comes. */
  letGo() {
    this.panel.close();
    this.graph?.select(null);
  }

  /** Move the choice on the canvas without leaving it; the panel follows. */
  point(id) {
    this.choose(id, { step: false });
    byId("said").textContent = this.labelOf(id);
  }

  // A node beyond the first view comes with its neighbours.
  #bring(node, keepWalk) {
    const nodes = [{ id: node.id, kind: node.kind, label: node.label, type: node.type, degree: node.degree }];
    const edges = [];
    for (const { other, kind, predicate, weight, direction } of edgesOf(node).slice(0, BROUGHT)) {
      nodes.push(other);
      edges.push(direction === "in" ? { source: other.id, target: node.id, kind, predicate, weight } : { source: node.id, target: other.id, kind, predicate, weight });
    }
    edges.push(...this.#inDocuments([node.id]));
    this.model.put("focus", { nodes, edges });
    this.redraw();
    this.graph.select(node.id, { follow: !keepWalk });
  }

  // A passage stands beside its document, where that is drawn.
  #inDocuments(ids) {
    const chunks = ids.filter((id) => kindOf(id) === "chunk" && this.model.has(documentOf(id)));
    return chunks.map((id) => ({ source: id, target: documentOf(id), kind: IN_DOCUMENT, weight: 1 }));
  }

  /** Expand a document into its chunks, or fold it. */
  async toggle(id) {
    if (!this.graph) return;
    const { expanded } = this.model;
    if (expanded.delete(id)) this.model.drop(`chunks ${id}`);
    else {
      expanded.add(id);
      try {
        await this.#readChunks(id);
      } catch (error) {
        expanded.delete(id);
        failed(error);
        return;
      }
    }
    this.redraw(0.4);
    if (expanded.has(id)) this.graph.fitAfter([id, ...this.model.layers.get(`chunks ${id}`).ids.filter((one) => kindOf(one) === "chunk")]);
    if (this.panel.id === id && this.panel.node) this.panel.show(id, { reload: true });
  }

  async #readChunks(id) {
    const answer = await get(["documents", id, "chunks"]);
    const chunks = answer.chunks ?? answer.nodes.filter((node) => node.kind === "chunk");
    const nodes = [...(answer.nodes ?? []), ...chunks.map((chunk) => ({ id: chunk.id, kind: "chunk", label: chunk.label ?? chunk.heading_path?.at(-1) ?? nameOf(chunk.id) }))];
    const edges = [...(answer.edges ?? []), ...chunks.map((chunk) => ({ source: chunk.id, target: id, kind: IN_DOCUMENT, weight: 1 }))];
    this.model.put(`chunks ${id}`, { nodes, edges });
  }

  /** Draw the walks of a search; `nodes` has labels and kinds of what they pass, `seeds` what found those they start from. */
  drawWalks(walks, active, nodes, hits, fit, seeds) {
    this.#address();
    if (!this.graph) return;
    const names = new Map(hits.map((hit) => [hit.id, hit.name]));
    const passed = new Map();
    const edges = [];
    for (const walk of walks) {
      for (const [at, hop] of walk.entries()) {
        passed.set(hop.node, { id: hop.node, kind: nodes[hop.node]?.kind ?? kindOf(hop.node), label: nodes[hop.node]?.label ?? names.get(hop.node) ?? undefined });
        if (at) edges.push({ source: walk[at - 1].node, target: hop.node, kind: hop.edge, weight: hop.weight });
      }
    }
    edges.push(...this.#inDocuments([...passed.keys()]));
    const known = [...passed.keys()].every((id) => this.model.has(id));
    if (walks.length) this.model.put("walk", { nodes: [...passed.values()], edges });
    else this.model.drop("walk");
    if (!known || !walks.length) this.redraw(known ? 0 : 0.3);
    this.graph.walk(walks, active, { fit: fit && walks.length > 0, seeds });
  }

  labelOf(id) {
    return this.model.known.get(id)?.label ?? nameOf(id);
  }

  total() {
    return this.model.total?.nodes ?? null;
  }

  entityTypes() {
    return this.model.types("entity");
  }

  openTab(name) {
    this.view("lists");
    return this.lists.show(name);
  }

  refreshTab(name) {
    return this.lists?.refresh(name);
  }

  /** On a narrow window, which part is seen. */
  view(name) {
    document.body.dataset.view = name;
    for (const button of document.querySelectorAll(".switch button")) button.setAttribute("aria-pressed", String(button.dataset.to === name));
  }

  /**
   * The store is another: read again what is shown. After a write, `entity` is the name of what to show now, and
   * `closes` says that what was shown is gone; `told` is without a write of this page.
   */
  async changed({ entity = null, closes = false, told = false } = {}) {
    if (closes) this.choose(null);
    const shown = entity ? await this.#entityId(entity) : this.panel.id;
    if (entity) {
      this.panel.id = shown;
      this.#address({ step: false });
    }
    for (const document of this.model.expanded) await this.#readChunks(document).catch(() => this.model.expanded.delete(document));
    this.model.drop("focus");
    await this.reload(0.05);
    // Another node may be shown by now; and what is just being renamed is read again after that.
    if (shown && shown === this.panel.id && !(told && isWriting())) {
      this.graph?.select(shown);
      const node = await this.panel.show(shown, { reload: true });
      if (node && this.graph && !this.model.has(shown)) this.#bring(node, true);
    }
    if (this.search.query) await this.search.ask(this.search.query, { keep: true });
    if (this.lists.open !== "results") await this.lists.refresh();
    await this.#counts();
  }

  // What the store lacks: without it, less is found than could be.
  async #notices() {
    let status;
    try {
      status = (await get(["status"])).store;
    } catch {
      return; // what is asked next says what is wrong
    }
    const { state, reason } = status.embedder ?? {};
    const off = state === "off" || state === "unavailable";
    const offline = byId("notices").querySelector(".note-offline");
    fill(
      byId("notices"),
      offline,
      off && note(`Search goes by words and names, not by meaning. ${reason ?? "There is no embedding model."} ${modelHelp(reason)}`),
      !off && status.pending > 0 && note(`${count(status.pending, "text")} not embedded yet: found by words and names. \`memdb sync\` embeds them now.`),
      status.problems > 0 && note(`${count(status.problems, "problem")} with files: see Review`),
    );
  }

  async #entityId(name) {
    try {
      const { entities } = await get(["entities"], { q: name, limit: 50 });
      return (entities.find((one) => one.name === name) ?? entities.find((one) => one.id === `entity:${name.toLowerCase()}`))?.id ?? null;
    } catch {
      return null; // the graph, which is read next, says what is wrong
    }
  }

  async #counts() {
    await this.#notices();
    for (const [tab, parts, query, size] of [
      ["review", ["review"], { limit: 1 }, (answer) => answer.total],
      ["links", ["links"], { status: LOOSE, limit: 1 }, (answer) => answer.total],
    ]) {
      try {
        this.lists.count(tab, size(await get(parts, query)));
      } catch {
        this.lists.count(tab, 0); // the tab itself says what is wrong when it is opened
      }
    }
  }
}

const app = new App();
app.start();
globalThis.memdb = app; // for whoever looks at it from the browser's own tools, and for its tests
