// Writes one sentence at a time into a view: asks the server, shows words at a readable pace, and turns in mid-sentence.
import * as api from "./api.js";

// From this pace on words are shown as they come.
export const kUnpaced = 60;

export class Writer {
  // `view` has begin(prompt), add(piece), turned(label), finish(whole); `on_speed` gets tokens and seconds of
  // each answer, and whether it has ended.
  constructor(view, on_speed) {
    this.view_ = view;
    this.on_speed_ = on_speed;
    this.sentence_ = null;
    this.pace_ = 12;
  }

  set pace(words_per_second) {
    this.pace_ = words_per_second;
  }

  get writing() {
    return this.sentence_ !== null;
  }

  // Resolves to {request, realised, turned} when the last word is shown; to null if it was stopped. Rejects with ApiError.
  write(request) {
    this.stop();
    return new Promise((resolve, reject) => {
      this.sentence_ = { request, resolve, reject, shown: [], queue: [], flow: null, timer: null, due: 0, turned: false, realised: null };
      this.view_.begin(request.prompt);
      this.open_(this.sentence_, request);
    });
  }

  // What follows the words that are shown is asked for `request`. A stream that is not ahead of them is told to change its
  // knobs; else, and where more than knobs changed, the rest is thrown away and asked for anew, with the shown words as prompt.
  turn(request, label, knobs_only) {
    const sentence = this.sentence_;
    if (sentence === null) return;
    sentence.request = request;
    if (sentence.shown.length > 0) {
      sentence.turned = true;
      this.view_.turned(label);
    }
    const { flow } = sentence;
    if (knobs_only && flow.id !== null && !flow.ended && sentence.queue.length === 0) {
      api.turn(flow.id, request.knobs, request.guidance).catch(() => this.reopen_(sentence, flow));
    } else {
      this.reopen_(sentence, flow);
    }
  }

  stop() {
    const sentence = this.sentence_;
    if (sentence === null) return;
    this.sentence_ = null;
    clearTimeout(sentence.timer);
    this.close_(sentence.flow);
    this.view_.finish(false);
    sentence.resolve(null);
  }

  close_(flow) {
    if (flow.ended) return;
    flow.ended = true;
    flow.controller.abort();  // Which the server takes for the end of it.
  }

  reopen_(sentence, flow) {
    if (sentence !== this.sentence_ || flow !== sentence.flow) return;
    this.close_(flow);
    sentence.queue = [];
    const { request, shown } = sentence;
    const written = shown.map(({ text }) => text).join("");
    const rest = { ...request, prompt: request.prompt + written };
    if (rest.max_tokens !== undefined) rest.max_tokens = Math.max(1, rest.max_tokens - shown.length);
    this.open_(sentence, rest);
  }

  open_(sentence, request) {
    const flow = { controller: new AbortController(), id: null, ended: false };
    sentence.flow = flow;
    this.read_(sentence, flow, request).catch((error) => {
      if (flow.ended || sentence !== this.sentence_ || flow !== sentence.flow) return;
      this.sentence_ = null;
      clearTimeout(sentence.timer);
      flow.ended = true;
      this.view_.finish(false);
      sentence.reject(error);
    });
  }

  async read_(sentence, flow, request) {
    const begin = performance.now();
    let tokens = 0;
    let finished = false;
    let told = 0;
    let before = request.prompt;
    for await (const chunk of api.completion({ ...request, explain: true }, flow.controller.signal)) {
      if (flow !== sentence.flow || flow.ended) return;
      flow.id = chunk.id ?? flow.id;
      for (const { text, finish_reason, semfuse } of chunk.choices ?? []) {
        if (semfuse?.realised) sentence.realised = semfuse.realised;
        if (text) {
          const asked = Object.keys(sentence.request.knobs).length > 0;
          const explained = semfuse?.token === undefined ? null : semfuse;
          sentence.queue.push({ text, before, asked, grammar: request.grammar !== undefined, explained });
          before += text;
          tokens += 1;
        }
        finished ||= Boolean(finish_reason);
      }
      this.schedule_(sentence);
      const seconds = (performance.now() - begin) / 1000;
      if (seconds > told + 0.25) this.on_speed_(tokens, told = seconds, false);
    }
    if (flow !== sentence.flow || flow.ended) return;
    if (!finished) throw new api.ApiError("The server broke off in mid-sentence.");
    flow.ended = true;
    this.on_speed_(tokens, (performance.now() - begin) / 1000, true);
    this.schedule_(sentence);
  }

  schedule_(sentence) {
    if (sentence.timer !== null || sentence !== this.sentence_) return;
    sentence.timer = setTimeout(() => this.show_(sentence), Math.max(0, sentence.due - performance.now()));
  }

  show_(sentence) {
    sentence.timer = null;
    const unpaced = this.pace_ >= kUnpaced;
    const pieces = sentence.queue.splice(0, unpaced ? sentence.queue.length : 1);
    for (const piece of pieces) {
      sentence.shown.push(piece);
      this.view_.add(piece);
    }
    sentence.due = performance.now() + (unpaced ? 0 : 1000 / this.pace_);
    if (sentence.queue.length > 0) {
      this.schedule_(sentence);
    } else if (sentence.flow.ended) {
      this.sentence_ = null;
      this.view_.finish();
      sentence.resolve({ request: sentence.request, realised: sentence.realised, turned: sentence.turned, pieces: sentence.shown });
    }
  }
}
