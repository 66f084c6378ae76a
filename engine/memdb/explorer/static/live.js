// Changes of the store, from wherever they come, as the server tells them.

import { address } from "./api.js";
import { byId, debounced } from "./dom.js";

const PAUSE = 250; // ms: a save touches several things, and is shown once

/** Call `changed` whenever the store is another than it was; says in the bar whether it listens. */
export function listen(changed) {
  let version = null;
  const told = debounced(changed, PAUSE);
  const source = new EventSource(address(["changes"]));
  const say = (state, text) => {
    byId("live").dataset.state = state;
    byId("live-text").textContent = text;
  };
  const take = (event) => {
    say("live", "live");
    const now = versionOf(event.data);
    if (version !== null && now !== version) told();
    version = now;
  };
  source.addEventListener("open", () => say("live", "live"));
  source.addEventListener("message", take);
  source.addEventListener("change", take);
  source.addEventListener("error", () => say("lost", "reconnecting"));
  addEventListener("pagehide", () => source.close());
}

function versionOf(data) {
  try {
    const parsed = JSON.parse(data);
    return String(parsed.version ?? data);
  } catch {
    return data;
  }
}
