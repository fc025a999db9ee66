// Asked against came over the last hundred sentences, as an SVG: a dot a sentence, their running mean, and steps of what was asked.
import { make_svg } from "./dom.js";
import { clamped } from "./number.js";
import { same_setting } from "./state.js";

const kWidth = 300;
const kHeight = 54;
const kEdge = 4;
const kSentences = 100;
const kWindow = 20;

// Draws into `container`, in place of what it held; `series` has one list of {asked, came} a side.
export function draw_plot(container, knob, series, edited) {
  const svg = make_svg("svg", { viewBox: `0 0 ${kWidth} ${kHeight}`, preserveAspectRatio: "none", role: "img", "aria-label": description(knob, series[edited]) });
  svg.append(...[0, 0.5, 1].map((at) => make_svg("line", { class: "grid", x1: 0, x2: kWidth, y1: y_of(at), y2: y_of(at) })));
  for (const [side, entries] of series.entries()) {
    if (side !== edited) svg.append(group(knob, entries, side, false));
  }
  svg.append(group(knob, series[edited], edited, true));
  container.replaceChildren(svg);
}

function description(knob, entries) {
  return entries.length === 0 ? `${knob.name}: no sentence yet` : `${knob.name}: asked against came in the last ${entries.length} sentences`;
}

function y_of(share) {
  return (kHeight - kEdge - share * (kHeight - 2 * kEdge)).toFixed(1);
}

function x_of(index, length) {
  return ((index + 0.5 + kSentences - length) * kWidth / kSentences).toFixed(1);
}

function group(knob, entries, side, detailed) {
  const { minimum = 0, maximum = 1 } = knob;
  const y = (value) => y_of(clamped((value - minimum) / (maximum - minimum), 0, 1));
  const x = (index) => x_of(index, entries.length);
  const result = make_svg("g", { class: `side-${side} ${detailed ? "front" : "back"}` });
  if (detailed) result.append(...entries.map(({ came }, index) => make_svg("circle", { cx: x(index), cy: y(came), r: 1.5 })));
  for (const [from, to] of stretches(entries)) {
    const points = [];
    for (let index = from; index < to; ++index) points.push(`${x(index)},${y(running_mean(entries, from, index))}`);
    if (points.length === 1) points.push(points[0]);
    result.append(make_svg("polyline", { class: "mean", points: points.join(" ") }));
    const { asked } = entries[from];
    if (asked !== undefined) result.append(make_svg("line", { class: "asked-line", x1: x(from - 0.5), x2: x(to - 0.5), y1: y(asked), y2: y(asked) }));
  }
  return result;
}

// Where the setting was the same: [from, to) each.
function stretches(entries) {
  const result = [];
  for (let index = 0; index < entries.length; ++index) {
    const before = result.at(-1);
    if (before && same_setting(entries[index].asked, entries[before[0]].asked)) before[1] = index + 1;
    else result.push([index, index + 1]);
  }
  return result;
}

// Over the last sentences of the same setting.
function running_mean(entries, from, index) {
  const begin = Math.max(from, index - kWindow + 1);
  let sum = 0;
  for (let at = begin; at <= index; ++at) sum += entries[at].came;
  return sum / (index - begin + 1);
}
