// Requests to the store's server: one error shape, the token for writes, and streamed progress.

export const BASE = location.pathname.replace(/\/explorer\/?$/, "");

const KEPT = `memdb-token ${BASE}`;
const TOKEN = token();

// The address brings the token once: it goes from there into this tab, so that no history and no shared link has it.
function token() {
  const given = document.querySelector('meta[name="memdb-token"]')?.content ?? "";
  const real = given.startsWith("__") ? "" : given;
  if (real) sessionStorage.setItem(KEPT, real);
  if (new URLSearchParams(location.search).has("token")) history.replaceState(null, "", location.pathname + location.hash);
  return real || (sessionStorage.getItem(KEPT) ?? "");
}

/** Whether this page may write: only the page that `memdb ui` serves carries the token. */
export let canWrite = TOKEN !== "";

export const WRITE_HELP = "This page only reads. To edit, open the address that `memdb ui` prints in the store's folder.";

/** What the server refused: a sentence, what to do next, a code, the HTTP status. */
export class ApiError extends Error {
  constructor(message, { hint = null, code = null, status = 0 } = {}) {
    super(message);
    this.hint = hint;
    this.code = code;
    this.status = status;
  }
}

/** An address below the store; `parts` are encoded each as one segment, `query` leaves out what is empty. */
export function address(parts, query = {}) {
  const path = parts.map((part) => encodeURIComponent(part)).join("/");
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    asked.set(name, Array.isArray(value) ? value.join(",") : value);
  }
  const text = asked.toString();
  return `${BASE}/${path}${text ? `?${text}` : ""}`;
}

async function answered(request) {
  let response;
  try {
    response = await request;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer.", { hint: "Start it again: `memdb ui`", code: "offline" });
  }
  let body = null;
  try {
    body = await response.json();
  } catch (error) {
    if (error.name === "AbortError") throw error;
  }
  if (response.status === 401 || body?.code === "read_only") {
    sessionStorage.removeItem(KEPT); // of a server that is gone
    canWrite = false;
    dispatchEvent(new Event("readonly"));
  }
  if (!response.ok || body === null || body.ok === false) {
    throw new ApiError(body?.error ?? body?.message ?? `The server answered ${response.status}.`, {
      hint: body?.hint ?? null,
      code: body?.code ?? null,
      status: response.status,
    });
  }
  return body;
}

/** Read JSON. `signal` gives the request up. */
export function get(parts, query = {}, signal = undefined) {
  return answered(fetch(address(parts, query), { headers: { Accept: "application/json" }, signal }));
}

/** Write JSON with the token of this page. */
export function send(method, parts, body = {}) {
  if (!canWrite) return Promise.reject(new ApiError("This page only reads.", { hint: WRITE_HELP, code: "read-only" }));
  return answered(fetch(address(parts), { method, headers: headers(), body: JSON.stringify(body) }));
}

function headers() {
  return { "Content-Type": "application/json", Accept: "application/json", "X-Memdb-Token": TOKEN };
}

/** Start long work; `tell` gets each event that the server sends until it is done. Gives what the last one said. */
export async function stream(parts, body, tell) {
  if (!canWrite) throw new ApiError("This page only reads.", { hint: WRITE_HELP, code: "read-only" });
  const response = await fetch(address(parts), {
    method: "POST",
    headers: { ...headers(), Accept: "text/event-stream" },
    body: JSON.stringify(body),
  });
  if (!response.ok || !response.body) return answered(Promise.resolve(response));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let last = null;
  const keep = (data, name) => {
    last = data;
    tell(data, name);
  };
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return last;
    const events = (rest + value).split(/\r?\n\r?\n/);
    rest = events.pop();
    for (const event of events) tellOne(event, keep);
  }
}

function tellOne(event, tell) {
  const fields = { event: "message", data: "" };
  for (const line of event.split(/\r?\n/)) {
    const [, name, value] = /^(event|data): ?(.*)$/.exec(line) ?? [];
    if (name === "data") fields.data += value;
    else if (name) fields.event = value;
  }
  if (!fields.data) return;
  const data = JSON.parse(fields.data);
  if (fields.event === "error" || data.ok === false) throw new ApiError(data.error ?? "It failed.", data);
  tell(data, fields.event);
}
