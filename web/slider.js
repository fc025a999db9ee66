// A slider with a number box and a way back, all of one name.
import { make, set_property } from "./dom.js";
import { clamped, decimals_of } from "./number.js";

let count = 0;

export class Slider {
  // `range` has minimum, maximum, step, and `most` if the box may go past the slider; `initial` undefined means that nothing is
  // set at first, which the slider shows in the middle and the box as "free". `on_input` gets the value, undefined after reset.
  constructor(name, range, on_input, { hint = "", reset = "back to " + range.initial } = {}) {
    const id = `slider-${++count}`;
    this.range_ = range;
    this.on_input_ = on_input;
    const { minimum, maximum, most = maximum, step } = range;
    this.slider_ = make("input", { type: "range", id, min: minimum, max: maximum, step, on_input: () => this.moved_(this.slider_.valueAsNumber) });
    this.box_ = make("input", {
      type: "number", min: minimum, max: most, step, "aria-label": `${name}, as a number`, placeholder: "free", inputmode: "decimal",
      on_change: () => this.typed_(),
    });
    this.back_ = make("button", { type: "button", class: "icon", "aria-label": `${name}: ${reset}`, title: reset, on_click: () => this.moved_(undefined) }, "↺");
    this.element = make("div", { class: "slider" },
      make("div", { class: "slider-head" }, make("label", { for: id, title: hint === "" ? null : hint }, name), this.back_, this.box_), this.slider_);
    this.show(range.initial);
  }

  show(value) {
    const { minimum, maximum, step, initial } = this.range_;
    const free = value === undefined;
    this.element.classList.toggle("free", free);
    const position = free ? (minimum + maximum) / 2 : clamped(value, minimum, maximum);
    this.slider_.value = position;
    this.slider_.setAttribute("aria-valuetext", free ? "not set" : value.toFixed(decimals_of(step)));
    set_property(this.slider_, "--fill", (position - minimum) / (maximum - minimum));
    this.box_.value = free ? "" : String(Number(value.toFixed(4)));
    this.back_.disabled = value === initial;
  }

  moved_(value) {
    const next = value ?? this.range_.initial;
    this.show(next);
    this.on_input_(next);
  }

  typed_() {
    const value = this.box_.valueAsNumber;
    const { minimum, maximum, most = maximum } = this.range_;
    this.moved_(Number.isFinite(value) ? clamped(value, minimum, most) : undefined);
  }
}
