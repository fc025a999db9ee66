// Plays a state: one sentence on each side from the same seed, or one after another until it is stopped.
import * as api from "./api.js";
import { request_of } from "./state.js";

const kBatch = 25;

export class Player {
  // `sides` are {writer, record}; `on_change` is called when playing begins, advances or ends, `on_error` with what went wrong.
  constructor(sides, on_change, on_error) {
    this.sides_ = sides;
    this.on_change_ = on_change;
    this.on_error_ = on_error;
    this.run_ = 0;
    this.playing_ = false;
  }

  get playing() {
    return this.playing_;
  }

  // `state` is read again before each sentence, so that changes hold from the next one on.
  async play(state) {
    const run = ++this.run_;
    this.stop_writers_();
    this.playing_ = true;
    this.on_change_();
    try {
      do {
        const written = await Promise.all(state.sides.map((side, index) => this.write_(index, request_of(state, side))));
        if (run !== this.run_ || written.includes(null)) return;
        if (state.continuous) state.seed = (state.seed + 1) % 2 ** 31;
        this.on_change_();
      } while (state.continuous);
    } catch (error) {
      if (run === this.run_) {
        this.stop_writers_();
        this.on_error_(error);
      }
    } finally {
      if (run === this.run_) {
        this.playing_ = false;
        this.on_change_();
      }
    }
  }

  stop() {
    this.run_ += 1;
    this.stop_writers_();
    this.playing_ = false;
    this.on_change_();
  }

  // A setting of a side moved: the sentence under way turns, or, where none is, one begins.
  turn(state, index, label, knobs_only) {
    const { writer } = this.sides_[index];
    if (this.playing_ && writer.writing) writer.turn(request_of(state, state.sides[index]), label, knobs_only);
    else if (!this.playing_ || !state.continuous) this.play(state);
  }

  // Writes a hundred sentences that are not shown and records what came of them; `on_progress` gets a share.
  async sample(state, signal, on_progress) {
    const total = 100 * state.sides.length;
    let done = 0;
    for (const [index, side] of state.sides.entries()) {
      for (let batch = 0; batch < 100 / kBatch; ++batch) {
        const request = { ...request_of(state, side, state.seed + batch), n: kBatch };
        for await (const chunk of api.completion(request, signal)) {
          for (const { finish_reason, semfuse } of chunk.choices ?? []) {
            if (!finish_reason) continue;
            if (semfuse?.realised) this.sides_[index].record.add(request.knobs, semfuse.realised);
            done += 1;
            on_progress(done / total);
          }
        }
      }
    }
  }

  async write_(index, request) {
    const { writer, record } = this.sides_[index];
    const written = await writer.write(request);
    // A sentence that was turned was asked for more than one thing, so it says nothing of either.
    if (written?.realised && !written.turned) record.add(written.request.knobs, written.realised);
    return written;
  }

  stop_writers_() {
    for (const { writer } of this.sides_) writer.stop();
  }
}
