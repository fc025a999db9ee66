// The server's API as functions; every failure is an ApiError that says what happened.
import { events_of } from "./stream.js";

const kKey = "semfuse.key";

export class ApiError extends Error {
  constructor(message, status = 0) {
    super(message);
    this.status = status;
  }
}

// The key lives as long as the tab. Where the browser keeps nothing it is asked for again.
function stored_key() {
  try {
    return sessionStorage.getItem(kKey) ?? "";
  } catch {
    return "";
  }
}

let key = stored_key();

export function set_key(text) {
  key = text.trim();
  try {
    sessionStorage.setItem(kKey, key);
  } catch {
    // Then it is kept by this page alone.
  }
}

async function answer(path, { method = "GET", body, signal } = {}) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (key !== "") headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer. Is it still running?");
  }
  if (response.ok) return response;
  const details = await response.json().catch(() => ({}));
  throw new ApiError(details.error?.message ?? `The server answers ${response.status} ${response.statusText}`, response.status);
}

export async function models() {
  return (await (await answer("/v1/models")).json()).data;
}

// Yields the chunks of a streamed completion.
export async function* completion(request, signal) {
  const response = await answer("/v1/completions", { method: "POST", body: { ...request, stream: true }, signal });
  for await (const chunk of events_of(response)) {
    if (chunk.error) throw new ApiError(chunk.error.message ?? "The server broke off");
    yield chunk;
  }
}

// From its next token on the completion is asked for these.
export async function turn(id, knobs, guidance) {
  await answer(`/v1/completions/${encodeURIComponent(id)}/knobs`, { method: "POST", body: { knobs, guidance } });
}

export async function features(model, text) {
  return (await answer("/v1/features", { method: "POST", body: { model, text } })).json();
}

// How probable words are after `prompt` if nothing is asked for: the most probable ones, by name.
export async function unasked_words(model, prompt) {
  const request = { model, prompt, max_tokens: 1, temperature: 1, seed: 1, logprobs: 20 };
  const { choices } = await (await answer("/v1/completions", { method: "POST", body: request })).json();
  const words = Object.entries(choices?.[0]?.logprobs?.top_logprobs?.[0] ?? {});
  return new Map(words.map(([word, logarithm]) => [word.trim(), Math.exp(logarithm)]));
}

export async function check_grammar(model, grammar, text) {
  const body = text === "" ? { model, grammar } : { model, grammar, text };
  return (await answer("/v1/grammar/check", { method: "POST", body })).json();
}
