// The written text: sentences of words that can be pointed at, tinted by a feature, with a mark where the course changed.
import { make, set_property } from "./dom.js";
import { clamped } from "./number.js";

const kMostSentences = 100;
const kReaderMilliseconds = 1000;
export const kSurprise = "@surprise";
export const kGrammarEffect = "@grammar";
export const kPolarity = "@polarity";

// The largest of the features whose names begin so.
function largest(features, beginning) {
  const values = Object.entries(features ?? {}).filter(([name]) => name.startsWith(beginning)).map(([, value]) => Number(value) || 0);
  return Math.max(0, ...values);
}

// How strongly a word is tinted, from -1 to 1.
export function tint_of(explained, tint) {
  if (explained === null || tint === "") return 0;
  if (tint === kSurprise) return clamped(-Math.log2(Math.max(explained.drawn ?? 1, 1e-9)) / 8, 0, 1);
  if (tint === kGrammarEffect) return clamped(Math.log2((explained.grammar || 1) / Math.max(explained.model || 1, 1e-9)) / 3, -1, 1);
  if (tint === kPolarity) return largest(explained.features, "pos_") - largest(explained.features, "neg_");
  const value = explained.features && Object.hasOwn(explained.features, tint) ? Number(explained.features[tint]) : 0;
  return Number.isFinite(value) ? clamped(value, -1, 1) : 0;
}

// Without the marks in it.
function text_of(sentence) {
  return [...sentence.childNodes].filter((node) => !node.classList?.contains("turn")).map((node) => node.textContent).join("").trim();
}

export class TextView {
  // `log` hears each finished sentence as a whole; `on_word` gets the word pointed at, and whether it is to stay.
  constructor(container, log, on_word) {
    this.container_ = container;
    this.log_ = log;
    this.on_word_ = on_word;
    this.tint_ = "";
    this.pieces_ = new WeakMap();
    this.sentence_ = null;
    this.current_ = null;
    this.frame_ = null;
    this.following_ = true;
    this.put_ = 0;
    this.touched_ = -Infinity;
    for (const event of ["wheel", "touchmove", "pointerdown", "keydown"]) {
      container.addEventListener(event, () => { this.touched_ = performance.now(); }, { passive: true });
    }
    container.addEventListener("scroll", () => this.scrolled_());
    container.addEventListener("pointerover", (event) => this.point_(event.target, false));
    container.addEventListener("click", (event) => this.point_(event.target, true));
    container.addEventListener("focusin", (event) => this.point_(event.target, true));
    container.addEventListener("keydown", (event) => this.walk_(event));
  }

  set tint(name) {
    this.tint_ = name;
    for (const word of this.container_.querySelectorAll(".word")) this.colour_(word);
  }

  clear() {
    this.container_.replaceChildren();
    this.sentence_ = null;
    this.current_ = null;
  }

  begin(prompt) {
    this.container_.querySelector(".writing")?.classList.remove("writing");
    this.sentence_ = make("p", { class: "sentence writing" });
    this.container_.append(this.sentence_);
    while (this.container_.childElementCount > kMostSentences) this.container_.firstElementChild.remove();
    let before = "";
    for (const text of prompt.match(/\s*\S+|\s+$/g) ?? []) {
      this.append_(text, { text, before, explained: null, prompt: true });
      before += text;
    }
    this.follow_();
  }

  add(piece) {
    this.append_(piece.text, piece);
    this.follow_();
  }

  // Moves between two words are one mark.
  turned(label) {
    const last = this.sentence_.lastElementChild;
    const mark = last?.classList.contains("turn") ? last : make("span", { class: "turn", "aria-hidden": "true" });
    mark.textContent = label;
    if (mark !== last) this.sentence_.append(mark);
  }

  // `whole` is false of a sentence that was broken off.
  finish(whole = true) {
    if (this.sentence_ === null) return;
    this.sentence_.classList.remove("writing");
    this.sentence_.classList.toggle("broken", !whole);
    const text = text_of(this.sentence_);
    if (text === "") this.sentence_.remove();
    else this.log_.append(make("p", {}, text));
    while (this.log_.childElementCount > 3) this.log_.firstElementChild.remove();
    this.sentence_ = null;
  }

  get last_text() {
    const last = this.container_.querySelector(".sentence:last-child");
    return last === null ? "" : text_of(last);
  }

  // Points at the word that has most to tell, for readers who have not pointed at any.
  suggest() {
    const words = [...this.container_.querySelectorAll(".word:not(.given)")];
    const worth = (word) => {
      const { explained } = this.pieces_.get(word);
      return Math.abs(tint_of(explained, this.tint_)) * 2 + tint_of(explained, kSurprise);
    };
    const best = words.reduce((one, other) => (one === null || worth(other) > worth(one) ? other : one), null);
    if (best !== null) this.point_(best, true);
  }

  append_(text, piece) {
    const word = text.trimStart();
    const blank = text.slice(0, text.length - word.length);
    if (blank !== "" && this.sentence_.childNodes.length > 0) this.sentence_.append(blank);
    if (word === "") return;
    const span = make("span", { class: piece.prompt ? "word given" : "word", role: "button", tabindex: this.current_ === null ? 0 : -1 }, word);
    this.current_ ??= span;
    this.pieces_.set(span, piece);
    this.colour_(span);
    this.sentence_.append(span);
  }

  colour_(word) {
    const tint = tint_of(this.pieces_.get(word).explained, this.tint_);
    word.classList.toggle("against", tint < 0);
    word.classList.toggle("tinted", Math.abs(tint) > 0.005);
    set_property(word, "--tinted", Math.abs(tint).toFixed(3));
  }

  point_(target, stay) {
    const piece = this.pieces_.get(target);
    if (piece === undefined) return;
    if (stay) {
      if (this.current_ !== null) this.current_.tabIndex = -1;
      this.current_ = target;
      target.tabIndex = 0;
      this.container_.querySelector(".chosen")?.classList.remove("chosen");
      target.classList.add("chosen");
    }
    this.on_word_(piece, stay, target);
  }

  // One stop of the Tab key for the whole text; arrows go from word to word.
  walk_(event) {
    if (!this.pieces_.has(event.target)) return;
    const words = [...this.container_.querySelectorAll(".word")];
    const at = words.indexOf(event.target);
    const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: words.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    words[clamped(to, 0, words.length - 1)].focus();
  }

  // Of the scrolling that a reader does; the text's own is told of when more text may be there already.
  scrolled_() {
    const { scrollHeight, scrollTop, clientHeight } = this.container_;
    if (scrollTop === this.put_) return;
    if (performance.now() - this.touched_ < kReaderMilliseconds) this.following_ = scrollHeight - scrollTop - clientHeight < 80;
  }

  // The newest line stays in sight unless the reader has scrolled away or is reading a word; once a frame, as it costs a layout.
  follow_() {
    this.frame_ ??= requestAnimationFrame(() => {
      this.frame_ = null;
      const box = this.container_;
      if (this.following_ && !box.contains(document.activeElement)) {
        box.scrollTop = box.scrollHeight;
        this.put_ = box.scrollTop;
      }
      // A word that scrolled out of the hundred sentences cannot be the stop of the Tab key.
      if (this.current_ !== null && !this.current_.isConnected) {
        this.current_ = box.querySelector(".word");
        if (this.current_ !== null) this.current_.tabIndex = 0;
      }
    });
  }
}
