// The rack: for each knob of the model a slider or a mixer, and beneath it what was asked against what came.
import { make } from "./dom.js";
import { Mixer } from "./mixer.js";
import { setting_text, step_of } from "./number.js";
import { draw_plot } from "./plot.js";
import { Slider } from "./slider.js";

export class KnobRack {
  // `on_input(name, value)`: value is a number, shares, or undefined when the knob is left to the model.
  constructor(container, on_input) {
    this.container_ = container;
    this.on_input_ = on_input;
    this.cards_ = [];
  }

  // A card for each knob, all left to the model.
  offer(knobs) {
    this.cards_ = knobs.map((knob) => this.card_(knob));
    this.container_.replaceChildren(...this.cards_.map(({ element }) => element));
    if (knobs.length === 0) this.container_.append(make("p", { class: "soft" }, "This model was trained without knobs."));
  }

  show(settings) {
    for (const { knob, control } of this.cards_) control.show(settings[knob.name]);
  }

  // `records` and `settings` one for each side; `edited` is the side whose figures are written out.
  show_record(records, settings, edited) {
    for (const { knob, control, plot, figures } of this.cards_) {
      const setting = settings[edited][knob.name];
      const summary = records[edited].summary(knob.name, setting);
      figures.replaceChildren(...figures_of(knob, setting, summary));
      if (knob.kind === "distribution") control.show_came(summary?.mean ?? null);
      else draw_plot(plot, knob, records.map((record) => record.series(knob.name)), edited);
    }
  }

  card_(knob) {
    const { name, kind } = knob;
    const on_input = (value) => this.on_input_(name, value);
    const plot = kind === "distribution" ? null : make("div", { class: "plot" });
    const figures = make("p", { class: "figures" });
    let control;
    if (kind === "distribution") {
      control = new Mixer(name, knob.values, on_input);
    } else {
      const { minimum = 0, maximum = 1 } = knob;
      const hint = kind === "probability" ? "a share, from 0 to 1" : `from ${minimum} to ${maximum}`;
      control = new Slider(name, { minimum, maximum, step: step_of(minimum, maximum), initial: undefined }, on_input,
                           { hint, reset: "leave to the model" });
    }
    const element = make("section", { class: "knob", "aria-label": name }, control.element, plot, figures);
    return { knob, control, plot, figures, element };
  }
}

// In words what the plot shows; a mixer has its shares beside its sliders.
function figures_of(knob, setting, summary) {
  const count = make("span", {}, summary === null ? "no sentence yet" : summary.count === 1 ? "1 sentence" : `${summary.count} sentences`);
  if (knob.kind === "distribution") return [make("span", {}, setting === undefined ? "free" : ""), count];
  const asked = make("span", { class: "asked" }, setting === undefined ? "free" : `asked ${setting_text(setting)}`);
  if (summary === null) return [asked, count];
  const spread = summary.half_width ? ` ± ${summary.half_width.toFixed(2)}` : "";
  return [asked, make("span", { class: "came-text" }, `came ${setting_text(summary.mean)}${spread}`), count];
}
