// The page: one state, shown by its views, played by its player.
import * as api from "./api.js";
import { curl_code, live_code, python_code } from "./code.js";
import { by_id, make, settled, throttled } from "./dom.js";
import { ExplainView, summary_of } from "./explain.js";
import { GrammarEditor } from "./grammar.js";
import { HistoryView } from "./history.js";
import { KnobRack } from "./knobs.js";
import { fragment_of, state_in } from "./link.js";
import { setting_text, speed_text } from "./number.js";
import { Player } from "./player.js";
import { Record } from "./record.js";
import { Slider } from "./slider.js";
import { checked_knobs, checked_state, kRanges, model_of, new_state, request_of } from "./state.js";
import { kGrammarEffect, kPolarity, kSurprise, TextView } from "./text.js";
import { offer_themes } from "./theme.js";
import { kUnpaced, Writer } from "./writer.js";

const kTurnMilliseconds = 70;
let models = [];
let state = new_state("");

const explain = new ExplainView(by_id("explain"));
const sides = [0, 1].map((index) => {
  const view = new TextView(by_id(`text-${index}`), by_id(`log-${index}`), (piece, stay) => {
    explain.show(piece, stay, model_of(models, state.model));
    if (stay) say(summary_of(piece));
  });
  by_id(`text-${index}`).addEventListener("pointerleave", () => explain.leave());
  return { view, record: new Record(), writer: new Writer(view, show_speed) };
});
const player = new Player(sides, show_playing, show_problem);
const history_view = new HistoryView(by_id("past"), by_id("clear-history"), (stored) => restore(stored));
const grammar = new GrammarEditor(by_id("grammar"), (text) => {
  edited_side().grammar = text;
  show_grammar_name();
  changed();
  if (!player.playing) play();
});
const rack = new KnobRack(by_id("knobs"), (name, value) => {
  const { knobs } = edited_side();
  if (value === undefined) delete knobs[name];
  else knobs[name] = value;
  show_records();
  changed();
  turn(`${name} ${setting_text(value)}`, true);
});

function edited_side() {
  return state.sides[state.edited];
}

// Sliders move faster than it is worth asking.
const turn = throttled(kTurnMilliseconds, (label, knobs_only) => {
  show_problem(null);
  player.turn(state, state.edited, label, knobs_only);
});

const samplers = [
  ["guidance", "guidance", "how far past the knobs' settings; 1: as they are, 0: as if nothing were set", true],
  ["temperature", "temperature", "below 1 sharper, 0 always the most probable word", false],
  ["top_p", "top-p", "only the most probable words that make up this share", false],
].map(([key, name, hint, knobs_only]) => {
  const slider = new Slider(name, kRanges[key], (value) => {
    edited_side()[key] = value;
    changed();
    turn(`${name} ${setting_text(value)}`, knobs_only);
  }, { hint });
  return { key, slider };
});
const most = new Slider("max tokens", kRanges.max_tokens, (value) => {
  state.max_tokens = value === undefined ? undefined : Math.round(value);
  changed();
}, { hint: "most tokens of a sentence", reset: "as the server has it" });
const pace = new Slider("words a second", kRanges.pace, (value) => {
  state.pace = value;
  for (const { writer } of sides) writer.pace = value;
  changed();
}, { hint: `how fast words are shown; ${kUnpaced}: as they come` });
by_id("sampling").append(...samplers.map(({ slider }) => slider.element), most.element);
by_id("pace").append(pace.element);

// The address always restores what is seen.
const changed = settled(150, () => history.replaceState(null, "", fragment_of(state)));

let tokens_received = 0;
let seconds_received = 0;
function show_speed(tokens, seconds, ended) {
  let speed = tokens / seconds;
  if (ended) {
    // A mean that forgets: a single sentence takes too short a time to be measured well.
    tokens_received = tokens_received * 0.9 + tokens;
    seconds_received = seconds_received * 0.9 + seconds;
    speed = tokens_received / seconds_received;
  }
  if (Number.isFinite(speed)) by_id("speed").textContent = speed_text(speed);
}

function show_playing() {
  const { playing } = player;
  by_id("stop").disabled = !playing;
  document.body.classList.toggle("playing", playing);
  by_id("seed").value = state.seed;
  show_records_soon();
  changed();
}

function show_records() {
  const count = state.sides.length;
  rack.show_record(sides.slice(0, count).map(({ record }) => record), state.sides.map(({ knobs }) => knobs), state.edited);
}

// Sentences may come by the hundred a second.
const show_records_soon = throttled(100, show_records);

function show_problem(error) {
  const place = by_id("problem");
  place.hidden = error === null;
  place.textContent = error?.message ?? "";
  if (error?.status === 401) ask_for_key();
}

function ask_for_key() {
  by_id("key-form").hidden = false;
  by_id("key").focus();
}

function say(text) {
  by_id("said").textContent = text;
}

function show_grammar_name() {
  const { grammar: text } = edited_side();
  const known = model_of(models, state.model).grammars.includes(text);
  by_id("grammar-name").textContent = text === "" ? "" : known ? text : "my own";
}

function show_tints(features) {
  const option = (value, text) => make("option", { value }, text);
  const select = by_id("tint");
  select.replaceChildren(option("", "nothing"), make("optgroup", { label: "how it was drawn" }, option(kSurprise, "surprise"), option(kGrammarEffect, "push of the grammar")));
  if (has_polarity(features)) select.append(option(kPolarity, "positive or negative"));
  if (features.length > 0) select.append(make("optgroup", { label: "feature" }, ...features.map((name) => option(name, name))));
  select.value = state.tint;
  if (select.selectedIndex < 0) select.value = state.tint = "";
  for (const { view } of sides) view.tint = state.tint;
}

// All views after the state became another one; `model_too` if its model may have changed.
function show_state(model_too) {
  const model = model_of(models, state.model);
  if (model_too) {
    rack.offer(model.knobs);
    grammar.offer(state.model, model.grammars);
    show_tints(model.features);
    const facts = [model.vocabulary && `${model.vocabulary.toLocaleString("en")} tokens`, model.context && `context ${model.context}`];
    by_id("facts").textContent = facts.filter((fact) => fact).join(" · ");
  }
  by_id("model").value = state.model;
  by_id("prompt").value = state.prompt;
  by_id("seed").value = state.seed;
  by_id("hold").checked = state.hold;
  by_id("continuous").checked = state.continuous;
  by_id("tint").value = state.tint;
  const two = state.sides.length === 2;
  document.body.classList.toggle("two-sides", two);
  document.querySelector(".pane.side-1").hidden = !two;
  by_id("sides").hidden = !two;
  by_id("compare").setAttribute("aria-pressed", two);
  most.show(state.max_tokens);
  pace.show(state.pace);
  for (const { writer } of sides) writer.pace = state.pace;
  show_side();
}

// What depends on the side that the sliders change.
function show_side() {
  const side = edited_side();
  for (const index of [0, 1]) by_id(`side-${index}`).setAttribute("aria-pressed", state.edited === index);
  document.body.classList.toggle("edits-second", state.edited === 1);
  rack.show(side.knobs);
  for (const { key, slider } of samplers) slider.show(side[key]);
  grammar.show(side.grammar);
  show_grammar_name();
  show_records();
}

function clear_texts() {
  for (const { view, record } of sides) {
    view.clear();
    record.clear();
  }
  explain.rest();
}

// Goes to a state from a link or from the history, and writes its first sentence.
function restore(untrusted) {
  player.stop();
  const former = state.model;
  state = checked_state(untrusted, models);
  if (state.model !== former) clear_texts();
  show_state(true);
  play();
}

async function play() {
  show_problem(null);
  const begun = structuredClone(state);
  await player.play(state);
  if (explain.resting) sides[state.edited].view.suggest();
  return begun;
}

// Another seed each time unless it is held, so that Generate gives something new.
async function generate() {
  if (!state.hold) state.seed = random_seed();
  const begun = await play();
  const text = sides[0].view.last_text;
  if (text) history_view.add(text, begun);
}

function random_seed() {
  return crypto.getRandomValues(new Uint32Array(1))[0] % 1000000;
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    return `${what} copied`;
  } catch {
    return "The browser does not let the page copy";
  }
}

function code_text() {
  const kind = document.querySelector("[data-code][aria-pressed=true]").dataset.code;
  const request = request_of(state, edited_side());
  return { curl: curl_code, python: python_code, live: live_code }[kind](location.origin, request);
}

// A button says for a moment what it has done.
function acknowledge(button, text) {
  const before = button.dataset.label ?? button.textContent;
  button.dataset.label = before;
  button.textContent = text;
  say(text);
  setTimeout(() => { button.textContent = before; }, 1600);
}

function choose_model(id) {
  player.stop();
  const { knobs } = model_of(models, id);
  const { grammars } = model_of(models, id);
  state.model = id;
  for (const side of state.sides) {
    side.knobs = checked_knobs(side.knobs, knobs);
    if (!grammars.includes(side.grammar)) side.grammar = "";
  }
  clear_texts();
  show_state(true);
  play();
}

let sampling = null;
async function measure() {
  if (sampling !== null) {
    sampling.abort();
    return;
  }
  sampling = new AbortController();
  const bar = by_id("sample-progress");
  bar.hidden = false;
  by_id("sample").textContent = "Stop measuring";
  try {
    await player.sample(state, sampling.signal, (share) => {
      bar.value = share;
      show_records_soon();
    });
    say("A hundred sentences measured");
  } catch (error) {
    if (error.name !== "AbortError") show_problem(error);
  }
  sampling = null;
  bar.hidden = true;
  by_id("sample").textContent = "Measure 100";
  show_records();
}

function toggle_compare() {
  player.stop();
  if (state.sides.length === 1) {
    state.sides.push(structuredClone(state.sides[0]));
    state.edited = 1;
  } else {
    state.sides = [state.sides[state.edited]];
    state.edited = 0;
  }
  clear_texts();
  show_state(false);
  play();
}

function edit_side(index) {
  state.edited = index;
  show_side();
  changed();
}

function listen() {
  const on = (id, event, action) => by_id(id).addEventListener(event, action);
  on("model", "change", (event) => choose_model(event.target.value));
  on("prompt", "input", (event) => { state.prompt = event.target.value; changed(); });
  on("prompt-form", "submit", (event) => { event.preventDefault(); generate(); });
  on("tint", "change", (event) => {
    state.tint = event.target.value;
    for (const { view } of sides) view.tint = state.tint;
    changed();
  });
  on("generate", "click", generate);
  on("stop", "click", () => player.stop());
  on("continuous", "change", (event) => {
    state.continuous = event.target.checked;
    changed();
    if (state.continuous && !player.playing) generate();
  });
  on("hold", "change", (event) => { state.hold = event.target.checked; changed(); });
  on("seed", "change", (event) => {
    state.seed = checked_state({ seed: event.target.valueAsNumber }, models).seed;
    event.target.value = state.seed;
    changed();
  });
  on("dice", "click", () => { state.seed = random_seed(); play(); });
  on("sample", "click", measure);
  on("forget", "click", () => {
    for (const { record } of sides) record.clear();
    show_records();
  });
  on("compare", "click", toggle_compare);
  for (const index of [0, 1]) on(`side-${index}`, "click", () => edit_side(index));
  on("link", "click", async (event) => acknowledge(event.target, await copy(location.href.split("#")[0] + fragment_of(state), "Link")));
  on("code", "click", () => {
    by_id("code-text").textContent = code_text();
    by_id("code-dialog").showModal();
  });
  on("code-close", "click", () => by_id("code-dialog").close());
  on("code-copy", "click", async (event) => acknowledge(event.target, await copy(code_text(), "Code")));
  for (const button of document.querySelectorAll("[data-code]")) {
    button.addEventListener("click", () => {
      for (const other of document.querySelectorAll("[data-code]")) other.setAttribute("aria-pressed", other === button);
      by_id("code-text").textContent = code_text();
    });
  }
  on("key-form", "submit", (event) => {
    event.preventDefault();
    api.set_key(by_id("key").value);
    by_id("key-form").hidden = true;
    begin();
  });
  addEventListener("hashchange", () => restore(state_in(location.hash)));
  addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) generate();
    if (event.key === "Escape" && !by_id("code-dialog").open && player.playing) player.stop();
  });
}

async function begin() {
  show_problem(null);
  try {
    models = await api.models();
  } catch (error) {
    show_problem(error);
    return;
  }
  by_id("model").replaceChildren(...models.map(({ id }) => make("option", { value: id }, id)));
  if (models.length === 0) {
    show_problem(new api.ApiError("The server has no model."));
    return;
  }
  const linked = state_in(location.hash);
  restore(linked ?? { seed: random_seed(), tint: first_tint() });
}

// A feature that shows something at first sight.
function first_tint() {
  const { features } = model_of(models, models[0].id);
  return has_polarity(features) ? kPolarity : kSurprise;
}

function has_polarity(features) {
  return ["pos_", "neg_"].every((beginning) => features.some((name) => name.startsWith(beginning)));
}

offer_themes(by_id("theme"));
listen();
begin();
