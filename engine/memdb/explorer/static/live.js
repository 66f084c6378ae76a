// Changes of the store, from wherever they come, as the server tells them.

import { address } from "./api.js";
import { byId } from "./dom.js";

const PAUSE = 250; // ms: a save touches several things, and is shown once
const REST = 3; // times as long as the page took to read all again, nothing is read: a long sync writes all the time
const LONGEST_REST = 10_000; // ms
const AGAIN = 2_000; // ms until a server that refused is asked again

/**
 * Call `changed` whenever the store is another than it was, once at a time; says in the bar whether it listens. `lost` is
 * called when the server does not answer, `back` when it does again: then what was missed is read too.
 */
export function listen(changed, { lost, back }) {
  const told = rested(changed);
  let version = null;
  let gone = false;
  const say = (state, text) => {
    byId("live").dataset.state = state;
    byId("live-text").textContent = text;
  };
  const take = (event) => {
    const now = versionOf(event.data);
    if (version !== null && now !== version) told();
    version = now;
  };
  const connect = () => {
    const source = new EventSource(address(["changes"]));
    source.addEventListener("open", () => {
      say("live", "live");
      if (!gone) return;
      gone = false;
      version = null; // another server counts anew
      back();
      told();
    });
    source.addEventListener("message", take);
    source.addEventListener("change", take);
    source.addEventListener("error", () => {
      say("lost", "reconnecting");
      if (!gone) lost();
      gone = true;
      if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN);
    });
    addEventListener("pagehide", () => source.close());
  };
  connect();
}

// Calls are gathered: one at a time, and the longer it took, the longer until the next.
function rested(call) {
  let timer = 0;
  let busy = false;
  let more = false;
  let from = 0;
  const run = async () => {
    timer = 0;
    busy = true;
    more = false;
    const began = performance.now();
    try {
      await call();
    } finally {
      busy = false;
      from = performance.now() + Math.min(LONGEST_REST, REST * (performance.now() - began));
      if (more) told();
    }
  };
  const told = () => {
    more = true;
    if (!busy && !timer) timer = setTimeout(run, Math.max(PAUSE, from - performance.now()));
  };
  return told;
}

function versionOf(data) {
  try {
    const parsed = JSON.parse(data);
    return String(parsed.version ?? data);
  } catch {
    return data;
  }
}
