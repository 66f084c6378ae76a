// The tabs on the left, and the lists that only read: unresolved links, runs, and what was decided.

import { canWrite, get, send, stream } from "./api.js";
import { byId, count, el, fill, moment, nothing, shownOf, words } from "./dom.js";
import { failed, perform, toast, writing } from "./edit.js";
import { showEntities } from "./entities.js";
import { showReview } from "./review.js";
import { showVocabulary } from "./vocabulary.js";

const LOG_LENGTH = 60;
const LINKS = 100; // rows at a time

/** What becomes of a link that leads to no one memory. */
export const LOOSE = ["unresolved", "ambiguous"];

/** The tabs: each has a title and a function that fills the list. */
export class Lists {
  #app;
  #tabs;
  #turn = 0;
  open = "results";

  constructor(app) {
    this.#app = app;
    this.place = byId("list");
    this.#tabs = new Map([
      ["results", ["Results", (into) => app.search.show(into)]],
      ["review", ["Review", (into) => showReview(app, into)]],
      ["links", ["Links", (into) => showLinks(app, into)]],
      ["entities", ["Entities", (into) => showEntities(app, into)]],
      ["vocabulary", ["Vocabulary", (into) => showVocabulary(app, into)]],
      ["runs", ["Runs", (into) => showRuns(app, into)]],
      ["log", ["Log", (into) => showLog(app, into)]],
    ]);
    fill(byId("tabs"), [...this.#tabs].map(([name, [title]]) => this.#tab(name, title)));
  }

  #tab(name, title) {
    return el(
      "button",
      {
        type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "list", "aria-selected": "false", tabindex: -1,
        data: { tab: name }, onclick: () => this.show(name),
      },
      title,
      el("span", { class: "tab-count" }),
    );
  }

  /** Open a tab. */
  async show(name) {
    this.open = name;
    for (const tab of byId("tabs").children) {
      const chosen = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
    }
    this.place.setAttribute("aria-labelledby", `tab-${name}`);
    this.place.scrollTop = 0;
    fill(this.place, el("p", { class: "loading" }, "Reading…"));
    await this.#fill();
  }

  // Filled aside and put in place at once: an older answer never replaces a newer, and nothing flickers.
  async #fill({ keep = false } = {}) {
    this.#turn += 1;
    const turn = this.#turn;
    const made = el("div", { class: "list-inner" });
    try {
      await this.#tabs.get(this.open)[1](made);
    } catch (error) {
      if (!error.hint && !error.status && error.code === undefined) throw error;
      fill(made, nothing(error.message, error.hint));
    }
    await noDialog(); // it gives the focus back to the button that opened it
    if (turn !== this.#turn) return;
    const top = this.place.scrollTop;
    const focused = keep && this.place.contains(document.activeElement) ? [...focusable(this.place)].indexOf(document.activeElement) : -1;
    fill(this.place, made);
    if (keep) this.place.scrollTop = top;
    if (focused >= 0) [...focusable(this.place)][focused]?.focus();
  }

  /** Read a tab again if it is open; what is chosen and scrolled to stays. */
  async refresh(name = this.open) {
    if (name !== this.open) return;
    const { activeElement } = document;
    if (this.place.contains(activeElement) && ["INPUT", "TEXTAREA", "SELECT"].includes(activeElement.tagName)) return; // somebody types there
    await this.#fill({ keep: true });
  }

  count(name, number) {
    const place = byId(`tab-${name}`)?.querySelector(".tab-count");
    if (place) place.textContent = number ? String(number) : "";
  }
}

const noDialog = () => {
  const open = document.querySelector("dialog[open]");
  return open && new Promise((done) => open.addEventListener("close", done, { once: true }));
};

const focusable = (place) => place.querySelectorAll("button, input, select, textarea, a[href]");

let mostLinks = LINKS; // as many as were asked for, also when the list is read again

async function showLinks(app, into) {
  const { links, total } = await get(["links"], { status: LOOSE, limit: mostLinks });
  app.lists.count("links", total);
  if (!links.length) return fill(into, nothing("Every link leads somewhere.", "A [[link]] to a memory that is not written yet would be listed here."));
  return fill(
    into,
    el("p", { class: "faint" }, `${count(total, "link")} without one target. Writing the memory connects it.`),
    el("ul", { class: "rows", "aria-label": "Unresolved links" }, links.map((link) => linkRow(app, link))),
    shownOf(links.length, total, () => ((mostLinks += LINKS), app.refreshTab("links"))),
  );
}

function linkRow(app, link) {
  const source = link.source ?? link.memory;
  return el(
    "li",
    {},
    el(
      "button",
      { type: "button", class: "row", data: { id: source }, onclick: () => app.choose(source) },
      el(
        "span",
        { class: "row-main" },
        el("span", { class: "row-title" }, el("code", {}, link.raw ?? link.target), el("span", { class: "badge badge-mark" }, link.status ?? "unresolved")),
        el("span", { class: "row-note" }, `in ${source}${link.line ? `, line ${link.line}` : ""}`),
        link.candidates?.length ? el("span", { class: "row-note" }, `could be ${link.candidates.join(", ")}`) : null,
      ),
    ),
  );
}

async function showRuns(app, into) {
  const { runs } = await get(["runs"]);
  const buttons = el("div", { class: "buttons" }, writing("Index now", () => work(app, "index")), writing("Sync files", () => work(app, "sync")));
  if (!runs.length) return fill(into, buttons, nothing("No run yet.", "Texts are indexed in the background once a language model is named."));
  return fill(into, buttons, el("ul", { class: "rows", "aria-label": "Runs" }, runs.map((run) => runRow(run))));
}

function runRow(run) {
  const tokens = (run.input_tokens ?? 0) + (run.output_tokens ?? 0);
  const facts = [count(run.done ?? 0, "text"), run.skipped && `${run.skipped} skipped`, run.failed && `${run.failed} failed`,
    run.calls && count(run.calls, "call"), tokens && count(tokens, "token"), run.cost !== null && run.cost !== undefined && `$${run.cost.toFixed(4)}`];
  const events = el("ul", { class: "events" });
  const details = el(
    "details",
    {
      ontoggle: async () => {
        if (!details.open || events.childElementCount) return;
        try {
          const shown = await get(["runs", run.id]);
          fill(events, (shown.events ?? []).map((event) => el("li", {}, `${event.kind} ${event.source ?? ""} ${event.message ?? ""}`)));
          if (!events.childElementCount) fill(events, el("li", {}, "Nothing was noted."));
        } catch (error) {
          failed(error);
        }
      },
    },
    el("summary", {}, el("b", {}, `Run ${run.id}`), el("span", { class: `badge state-${run.state}` }, run.state), el("span", { class: "row-note" }, moment(run.started_at))),
    el("p", { class: "row-note" }, facts.filter(Boolean).join(" · ")),
    run.model && el("p", { class: "row-note" }, run.model),
    run.message && el("p", { class: "note" }, run.message),
    events,
  );
  return el("li", { class: "card" }, details);
}

async function work(app, what) {
  const place = el("p", { class: "note", role: "status" }, what === "index" ? "Indexing…" : "Syncing…");
  byId("notices").append(place);
  try {
    const end = await stream([what], {}, (event) => {
      const part = event.total ? ` ${event.done ?? 0} of ${event.total}` : "";
      place.textContent = event.message ?? `${words(event.stage ?? what)}${part}…`;
    });
    toast(end?.said ?? (what === "index" ? "Indexed." : "Synced."));
  } catch (error) {
    failed(error);
  }
  place.remove();
  await app.changed();
}

async function showLog(app, into) {
  const { decisions } = await get(["log"], { limit: LOG_LENGTH });
  if (!decisions.length) return fill(into, nothing("Nothing was decided yet.", "Renames, merges, approvals and the like are listed here, each with its undo."));
  return fill(into, el("ul", { class: "rows", "aria-label": "Decisions" }, decisions.map((one) => decisionRow(app, one))));
}

function decisionRow(app, one) {
  const undo = () => perform(() => send("POST", ["undo"], { decision: one.id }), "Undone.", () => app.changed());
  return el(
    "li",
    { class: "card" },
    el("p", { class: "row-title" }, one.words, el("span", { class: `badge state-${one.state}` }, one.state)),
    el("p", { class: "row-note" }, [moment(one.at), one.by, one.why].filter(Boolean).join(" · ")),
    one.state === "standing" && canWrite && el("div", { class: "buttons" }, writing("Undo", undo)),
  );
}
