// What made a word: its features, its probability after model, grammar, knobs and sampler, and the words it was drawn before.
import * as api from "./api.js";
import { make, set_property } from "./dom.js";
import { clamped, probability_text } from "./number.js";

// A pointer that only passes asks nothing.
const kRestMilliseconds = 120;

// What a word's probability was at each step, [label, value] each; steps that change nothing by their nature are left out.
// Where the word was not among those that the server told, the first value is what it was below: `unasked_below`.
function stages_of(piece) {
  const { asked, unasked, unasked_below } = piece;
  const { unsteered, model, grammar, controls, drawn } = piece.explained;
  const stages = [];
  if (asked) stages.push(["nothing asked", unasked ?? unasked_below, unasked === null]);
  if (unsteered !== undefined) stages.push(["knobs asked", unsteered], ["with guidance", model]);
  else stages.push([asked ? "knobs asked" : "the model alone", model]);
  if (piece.grammar) stages.push(["with the grammar", grammar]);
  if (controls !== grammar) stages.push(["with rules", controls]);
  stages.push(["as drawn", drawn]);
  return stages.filter(([, value]) => typeof value === "number");
}

function bar(label, value, text, kind = "") {
  const fill = make("span", { class: "bar-fill" });
  set_property(fill, "--value", clamped(Math.abs(value), 0, 1));
  return make("li", { class: `bar ${kind}` }, make("span", { class: "bar-label", title: label }, label), make("span", { class: "bar-track" }, fill), make("span", { class: "bar-value" }, text));
}

function column(title, list, empty, note) {
  const content = list.length > 0 ? make("ul", { class: "bars" }, ...list) : make("p", { class: "soft small" }, empty);
  return make("section", {}, make("h3", {}, title), content, note ? make("p", { class: "soft small" }, note) : null);
}

// Bars of the features that are not 0, largest first, and a note on the others.
function feature_column(features, names) {
  const all = Object.entries(features ?? {}).map(([name, value]) => [name, Number(value)]).filter(([, value]) => Number.isFinite(value));
  const shown = all.filter(([, value]) => Math.abs(value) >= 0.005).sort((one, other) => Math.abs(other[1]) - Math.abs(one[1]));
  const rest = names.length - shown.length;
  return column("Features", shown.map(([name, value]) => bar(name, value, value.toFixed(2), value < 0 ? "against" : "")),
                names.length === 0 ? "This model reads no features." : "All features are 0.", shown.length > 0 && rest > 0 ? `${rest} others are 0` : "");
}

// "×3.2" where a stage changed much.
function factor(value, before) {
  if (!(before > 0) || !(value > 0)) return "";
  const ratio = value / before;
  return ratio > 0.98 && ratio < 1.02 ? "" : ` ×${ratio >= 10 ? ratio.toFixed(0) : ratio.toPrecision(2)}`;
}

function probability_column(piece) {
  let before = null;
  const bars = [];
  for (const [label, value, below] of stages_of(piece)) {
    bars.push(bar(label, value, below ? `< ${probability_text(value)}` : probability_text(value) + factor(value, before), "wide"));
    before = below ? null : value;
  }
  const { slot, settings = [] } = piece.explained;
  const notes = [slot && `slot: ${slot}`, settings.length > 0 && `set by the grammar: ${settings.join(", ")}`];
  return column("Probability", bars, "The server says nothing of it.", notes.filter((note) => note).join("; "));
}

function runner_column(explained) {
  const runners = (explained.runners ?? []).slice(0, 6);
  return column("Runners-up", runners.map(({ token, probability }) => bar(String(token).trim() || "␣", probability, probability_text(probability))), "None was near.");
}

// In one line, for screen readers.
export function summary_of({ text, explained }) {
  if (explained === null) return `${text.trim()}: given`;
  const runner = explained.runners?.[0];
  return `${text.trim()}: drawn with ${probability_text(explained.drawn)}${runner ? `, beside ${String(runner.token).trim()} with ${probability_text(runner.probability)}` : ""}`;
}

export class ExplainView {
  constructor(container) {
    this.container_ = container;
    this.pinned_ = null;
    this.asked_ = 0;
    this.rest();
  }

  get resting() {
    return this.pinned_ === null;
  }

  // With nothing to explain.
  rest() {
    this.pinned_ = null;
    this.container_.replaceChildren(make("p", { class: "soft rest" }, "Point at a word, or go to it with Tab and the arrow keys, to see what made it."));
  }

  // Shows a piece of text; one that is to `stay` is shown again when the pointer leaves. `model` has id and features.
  show(piece, stay, model) {
    if (stay) this.pinned_ = { piece, model };
    this.draw_(piece, model);
  }

  leave() {
    if (this.pinned_ !== null) this.draw_(this.pinned_.piece, this.pinned_.model);
  }

  draw_(piece, model) {
    const asked = ++this.asked_;
    const head = make("h2", { class: "explained-word" }, piece.text.trim());
    if (piece.explained !== null) {
      const { explained } = piece;
      this.container_.replaceChildren(head, make("div", { class: "explained" },
        probability_column(piece), runner_column(explained), feature_column(explained.features, model.features)));
      if (piece.asked && piece.unasked === undefined) this.add_unasked_(piece, model, asked);
    } else {
      this.container_.replaceChildren(head, make("p", { class: "soft" }, "Part of the prompt: given, not drawn."));
      if (piece.prompt) this.add_features_(piece, model, asked);
    }
  }

  // What the knobs did to a word shows beside what the model says if nothing is asked, which takes a question of its own.
  async add_unasked_(piece, model, asked) {
    await new Promise((resolve) => setTimeout(resolve, kRestMilliseconds));
    if (asked !== this.asked_) return;
    const words = await api.unasked_words(model.id, piece.before).catch(() => new Map());
    piece.unasked = words.get(piece.explained.token.trim()) ?? null;
    piece.unasked_below = words.size > 0 ? Math.min(...words.values()) : undefined;
    if (asked === this.asked_) this.draw_(piece, model);
  }

  // Words of the prompt are no tokens of the answer; the server tells their features.
  async add_features_(piece, model, asked) {
    const answer = await api.features(model.id, piece.before + piece.text).catch(() => null);
    const token = answer?.tokens?.at(-1);
    if (asked !== this.asked_ || !token) return;
    const features = Object.fromEntries(answer.features.map((name, index) => [name, token.values[index]]));
    this.container_.append(make("div", { class: "explained" }, feature_column(features, answer.features)));
  }
}
