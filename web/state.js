// Everything that a link restores: model, prompt, seed, one or two sides with their settings.
import { clamped } from "./number.js";

export const kRanges = {
  guidance: { minimum: 0, maximum: 5, most: 20, step: 0.1, initial: 1 },
  temperature: { minimum: 0, maximum: 2, step: 0.05, initial: 1 },
  top_p: { minimum: 0.05, maximum: 1, step: 0.01, initial: 1 },
  max_tokens: { minimum: 1, maximum: 200, most: 4096, step: 1, initial: undefined },
  pace: { minimum: 1, maximum: 60, step: 1, initial: 12 },
};
const kMostText = 100000;

export function new_side() {
  return { knobs: {}, guidance: 1, temperature: 1, top_p: 1, grammar: "" };
}

export function new_state(model) {
  return {
    model, prompt: "", seed: 1, hold: false, continuous: false, tint: "",
    max_tokens: undefined, pace: kRanges.pace.initial, sides: [new_side()], edited: 0,
  };
}

// What the server knows of the model named, or nothing at all.
export function model_of(models, id) {
  const found = models.find((model) => model.id === id);
  return { id, knobs: [], features: [], grammars: [], ...(found?.semfuse ?? {}) };
}

function checked_number(value, { minimum, maximum, most, initial }) {
  return typeof value === "number" && Number.isFinite(value) ? clamped(value, minimum, most ?? maximum) : initial;
}

function checked_text(value) {
  return typeof value === "string" ? value.slice(0, kMostText) : "";
}

// Shares of a knob's values, made to sum to 1; undefined if there is nothing of them.
function checked_shares(value, values) {
  if (typeof value !== "object" || value === null) return undefined;
  const shares = values.map((name) => Math.max(0, Number(Object.hasOwn(value, name) ? value[name] : 0) || 0));
  const sum = shares.reduce((total, share) => total + share, 0);
  if (!(sum > 0) || !Number.isFinite(sum)) return undefined;
  return Object.fromEntries(values.map((name, index) => [name, shares[index] / sum]));
}

// The settings that the model has knobs for, within their ranges.
export function checked_knobs(untrusted, knobs) {
  const result = {};
  for (const knob of knobs) {
    const value = untrusted !== null && typeof untrusted === "object" && Object.hasOwn(untrusted, knob.name) ? untrusted[knob.name] : undefined;
    if (knob.kind === "distribution") {
      const shares = checked_shares(value, knob.values);
      if (shares) result[knob.name] = shares;
    } else if (typeof value === "number" && Number.isFinite(value)) {
      result[knob.name] = clamped(value, knob.minimum, knob.maximum);
    }
  }
  return result;
}

function checked_side(untrusted, knobs) {
  const side = new_side();
  side.knobs = checked_knobs(untrusted?.knobs, knobs);
  for (const name of ["guidance", "temperature", "top_p"]) side[name] = checked_number(untrusted?.[name], kRanges[name]);
  side.grammar = checked_text(untrusted?.grammar);
  return side;
}

// A state that these models allow, from whatever a link or a stored entry holds.
export function checked_state(untrusted, models) {
  const known = models.some((model) => model.id === untrusted?.model);
  const state = new_state(known ? untrusted.model : models[0]?.id ?? "");
  if (untrusted === null || typeof untrusted !== "object") return state;
  const { knobs } = model_of(models, state.model);
  state.prompt = checked_text(untrusted.prompt);
  state.tint = checked_text(untrusted.tint);
  state.seed = Math.round(checked_number(untrusted.seed, { minimum: 0, maximum: 2 ** 31 - 1, initial: 1 }));
  state.max_tokens = checked_number(untrusted.max_tokens, kRanges.max_tokens);
  if (state.max_tokens !== undefined) state.max_tokens = Math.round(state.max_tokens);
  state.pace = Math.round(checked_number(untrusted.pace, kRanges.pace));
  state.hold = untrusted.hold === true;
  state.continuous = untrusted.continuous === true;
  const sides = Array.isArray(untrusted.sides) ? untrusted.sides.slice(0, 2) : [];
  if (sides.length > 0) state.sides = sides.map((side) => checked_side(side, knobs));
  state.edited = untrusted.edited === 1 && state.sides.length === 2 ? 1 : 0;
  return state;
}

// The body of POST /v1/completions for one side.
export function request_of(state, side, seed = state.seed) {
  const request = {
    model: state.model, prompt: state.prompt, temperature: side.temperature, top_p: side.top_p, seed, knobs: structuredClone(side.knobs),
  };
  // Guidance goes past what is set, so where nothing is there is none; a grammar may set something too.
  if (Object.keys(side.knobs).length > 0 || (side.grammar !== "" && side.guidance !== kRanges.guidance.initial)) request.guidance = side.guidance;
  if (state.max_tokens !== undefined) request.max_tokens = state.max_tokens;
  if (side.grammar !== "") request.grammar = side.grammar;
  return request;
}

export function same_setting(one, other) {
  if (typeof one !== "object" || typeof other !== "object") return one === other;
  return Object.keys({ ...one, ...other }).every((name) => one[name] === other[name]);
}
