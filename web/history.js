// What was written before, kept by this browser alone.
import { make } from "./dom.js";

const kKey = "semfuse.history";
const kMost = 40;

export function read_history() {
  try {
    const entries = JSON.parse(localStorage.getItem(kKey) ?? "[]");
    return Array.isArray(entries) ? entries.filter((entry) => typeof entry?.text === "string") : [];
  } catch {
    return [];
  }
}

function write_history(entries) {
  try {
    localStorage.setItem(kKey, JSON.stringify(entries));
  } catch {
    // A browser that keeps nothing has no history.
  }
}

export class HistoryView {
  // `on_choose` gets a stored state, unchecked.
  constructor(list, clear, on_choose) {
    this.list_ = list;
    this.on_choose_ = on_choose;
    clear.addEventListener("click", () => {
      write_history([]);
      this.show();
    });
    this.show();
  }

  add(text, state) {
    const entry = { when: Date.now(), text, state: structuredClone(state) };
    const settings = JSON.stringify(entry.state);
    const others = read_history().filter((old) => old.text !== text || JSON.stringify(old.state) !== settings);
    write_history([entry, ...others].slice(0, kMost));
    this.show();
  }

  show() {
    const entries = read_history();
    const rows = entries.map((entry) => make("li", {},
      make("button", { type: "button", class: "past", on_click: () => this.on_choose_(entry.state) },
        make("span", { class: "past-text" }, entry.text), make("span", { class: "soft small" }, details_of(entry)))));
    this.list_.replaceChildren(...(rows.length > 0 ? rows : [make("li", { class: "soft" }, "Nothing yet.")]));
  }
}

function details_of({ when, state }) {
  const time = new Date(when).toLocaleString(undefined, { dateStyle: "short", timeStyle: "short" });
  return [time, state?.model, `seed ${state?.seed}`].filter((part) => part).join(" · ");
}
