// Shares of a distribution as linked sliders: raising one takes from the others in proportion, so that they sum to 1.
import { make, set_property } from "./dom.js";
import { clamped } from "./number.js";

let count = 0;

// The shares after `name` was set to `share`.
export function rebalanced(shares, name, share) {
  const others = Object.keys(shares).filter((other) => other !== name);
  if (others.length === 0) return { [name]: 1 };
  const rest = others.reduce((sum, other) => sum + shares[other], 0);
  const result = {};
  for (const key of Object.keys(shares)) {
    result[key] = key === name ? share : rest > 0 ? shares[key] * (1 - share) / rest : (1 - share) / others.length;
  }
  return result;
}

export class Mixer {
  // `on_input` gets the shares, undefined when nothing is to be asked for.
  constructor(name, values, on_input) {
    this.values_ = values;
    this.on_input_ = on_input;
    this.rows_ = values.map((value) => this.row_(name, value));
    this.back_ = make("button", { type: "button", class: "icon", "aria-label": `${name}: leave to the model`, title: "leave to the model",
                                  on_click: () => this.changed_(undefined) }, "↺");
    this.element = make("div", { class: "mixer", role: "group", "aria-label": name },
      make("div", { class: "slider-head" }, make("span", { class: "name" }, name), this.back_), ...this.rows_.map(({ element }) => element));
    this.show(undefined);
  }

  show(shares) {
    this.shares_ = shares;
    this.element.classList.toggle("free", shares === undefined);
    this.back_.disabled = shares === undefined;
    for (const [index, { slider, output }] of this.rows_.entries()) {
      const share = shares?.[this.values_[index]] ?? 1 / this.values_.length;
      const percent = `${Math.round(share * 100)} %`;
      slider.value = share;
      slider.setAttribute("aria-valuetext", shares === undefined ? "not set, left to the model" : percent);
      set_property(slider, "--fill", share);
      output.textContent = shares === undefined ? "" : percent;
    }
  }

  // Under each slider, on its scale, the share that came; `shares` null clears it.
  show_came(shares) {
    for (const [index, { came, came_output }] of this.rows_.entries()) {
      const share = shares === null ? 0 : clamped(shares[this.values_[index]] ?? 0, 0, 1);
      came.classList.toggle("absent", shares === null);
      came_output.textContent = shares === null ? "" : `${Math.round(share * 100)} %`;
      set_property(came, "--came", share);
    }
  }

  row_(name, value) {
    const id = `mixer-${++count}`;
    const slider = make("input", { type: "range", id, min: 0, max: 1, step: 0.01, on_input: () => this.moved_(value, slider.valueAsNumber) });
    const output = make("output", { for: id });
    const came = make("span", { class: "came absent" });
    const came_output = make("span", { class: "came-output" });
    const element = make("div", { class: "mixer-row" },
      make("label", { for: id }, make("span", { class: "hidden" }, `${name} `), value), make("div", { class: "mixer-track" }, slider, came), output, came_output);
    return { element, slider, output, came, came_output };
  }

  moved_(value, share) {
    const even = Object.fromEntries(this.values_.map((name) => [name, 1 / this.values_.length]));
    this.changed_(rebalanced(this.shares_ ?? even, value, share));
  }

  changed_(shares) {
    this.show(shares);
    this.on_input_(shares);
  }
}
