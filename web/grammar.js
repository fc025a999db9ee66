// The grammar of a side: none, a built-in one to be read, or a text of one's own that is checked while it is written.
import * as api from "./api.js";
import { make, settled } from "./dom.js";

const kOwn = "own";

export class GrammarEditor {
  // `root` holds the elements by their data-part; `on_change` gets a name, a text that is well formed, or "".
  constructor(root, on_change) {
    const part = (name) => root.querySelector(`[data-part="${name}"]`);
    this.choice_ = part("choice");
    this.editor_ = part("editor");
    this.text_ = part("text");
    this.backdrop_ = part("backdrop");
    this.verdict_ = part("verdict");
    this.trial_ = part("trial");
    this.trial_verdict_ = part("trial-verdict");
    this.copy_ = part("copy");
    this.back_ = part("back");
    this.own_text_ = "";
    this.draft_ = "";  // The own text that a copy took the place of.
    this.read_name_ = "";  // The built-in one that is shown.
    this.on_change_ = on_change;
    this.model_ = "";
    this.built_in_ = [];
    this.asked_ = 0;
    const soon = settled(250, () => this.check_(true));
    this.choice_.addEventListener("change", () => this.chosen_());
    this.text_.addEventListener("input", () => {
      this.own_text_ = this.text_.value;
      this.mark_(null);
      soon();
    });
    this.text_.addEventListener("scroll", () => {
      this.backdrop_.scrollTop = this.text_.scrollTop;
      this.backdrop_.scrollLeft = this.text_.scrollLeft;
    });
    this.copy_.addEventListener("click", () => {
      if (this.own_text_.trim() !== "" && this.own_text_ !== this.text_.value) this.draft_ = this.own_text_;
      this.own_text_ = this.text_.value;
      this.choice_.value = kOwn;
      this.chosen_();
    });
    this.back_.addEventListener("click", () => {
      [this.own_text_, this.draft_] = [this.draft_, this.own_text_];
      this.chosen_();
    });
    this.trial_.addEventListener("input", settled(250, () => this.check_(false)));
  }

  offer(model, names) {
    this.model_ = model;
    this.built_in_ = names;
    const option = (value, text) => make("option", { value }, text);
    this.choice_.replaceChildren(option("", "none"), ...names.map((name) => option(`built-in ${name}`, name)), option(kOwn, "my own …"));
  }

  show(grammar) {
    const own = grammar !== "" && !this.built_in_.includes(grammar);
    this.choice_.value = grammar === "" ? "" : own ? kOwn : `built-in ${grammar}`;
    if (own) this.own_text_ = grammar;
    this.reveal_();
    this.check_(false);
  }

  get chosen_name_() {
    return this.choice_.value.startsWith("built-in ") ? this.choice_.value.slice("built-in ".length) : "";
  }

  reveal_() {
    const own = this.choice_.value === kOwn;
    this.editor_.hidden = this.choice_.value === "";
    this.text_.readOnly = !own;
    this.copy_.hidden = own;
    this.back_.hidden = !own || this.draft_ === "";
    if (own) this.read_("", this.own_text_);
    else if (this.read_name_ !== this.chosen_name_) this.read_("", "");
    this.trial_.closest("label").hidden = this.choice_.value === "";
  }

  read_(name, text) {
    this.read_name_ = name;
    if (this.text_.value !== text) this.text_.value = text;
    this.mark_(null);
  }

  chosen_() {
    this.reveal_();
    if (this.choice_.value === kOwn) this.text_.focus();
    else this.on_change_(this.chosen_name_);
    this.check_(this.choice_.value === kOwn);
  }

  // Asks the server about the grammar and the text tried on it; a good grammar that was `written` just now is taken over.
  async check_(written) {
    const asked = ++this.asked_;
    const own = this.choice_.value === kOwn;
    const grammar = own ? this.text_.value : this.chosen_name_;
    this.say_(this.trial_verdict_, "", "");
    if (grammar.trim() === "") {
      this.mark_(null);
      this.say_(this.verdict_, own ? "Write a rule named root." : "", "");
      if (own && written) this.on_change_("");
      return;
    }
    let answer;
    try {
      answer = await api.check_grammar(this.model_, grammar, this.trial_.value);
    } catch (error) {
      answer = { ok: false, error: { message: error.message } };
    }
    if (asked !== this.asked_) return;
    if (answer.ok) {
      if (own) this.mark_(null);
      else this.read_(grammar, answer.grammar ?? "");
      this.say_(this.verdict_, own ? "This grammar is well formed." : "", "good");
      if (this.trial_.value !== "") this.say_(this.trial_verdict_, ...verdict_of(answer));
      if (own && written) this.on_change_(grammar);
    } else {
      this.complain_(answer.error);
    }
  }

  complain_({ message, line, column }) {
    const place = line ? `Line ${line}${column ? `, column ${column}` : ""}: ` : "";
    this.say_(this.verdict_, place + message, "bad");
    this.mark_(line ? { line, column: column ?? 1 } : null);
    if (!line) return;
    this.verdict_.append(" ", make("button", { type: "button", class: "quiet", on_click: () => this.go_to_(line, column ?? 1) }, "Go there"));
  }

  say_(element, text, kind) {
    element.textContent = text;
    element.classList.toggle("good", kind === "good");
    element.classList.toggle("bad", kind === "bad");
  }

  // The text again, behind the one that is written, with a wavy line from the place to the end of the word.
  mark_(place) {
    this.text_.setAttribute("aria-invalid", place === null ? "false" : "true");
    const text = this.text_.value;
    if (place === null) {
      this.backdrop_.textContent = text + "\n";
      return;
    }
    const at = offset_of(text, place.line, place.column);
    const length = Math.max(1, text.slice(at).match(/^\S*/)[0].length);
    const marked = text.slice(at, at + length).replace(/^\n?$/, " ");
    const rest = text[at] === "\n" ? text.slice(at) : text.slice(at + length);
    this.backdrop_.replaceChildren(text.slice(0, at), make("mark", {}, marked), rest + "\n");
  }

  go_to_(line, column) {
    const at = offset_of(this.text_.value, line, column);
    this.text_.focus();
    this.text_.setSelectionRange(at, at);
  }
}

function verdict_of(answer) {
  const { matches } = answer;
  if (matches === true || matches?.complete === true) return ["It is a sentence of this grammar.", "good"];
  return [answer.reason ?? "It is no sentence of this grammar.", "bad"];
}

// Lines and columns count from 1.
function offset_of(text, line, column) {
  const before = text.split("\n").slice(0, line - 1);
  const start = before.reduce((sum, part) => sum + part.length + 1, 0);
  return Math.min(text.length, start + column - 1);
}
