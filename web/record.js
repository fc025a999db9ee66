// The last hundred sentences: what was asked of each and what came.
import { same_setting } from "./state.js";

const kMost = 100;

export class Record {
  constructor() {
    this.entries_ = [];
  }

  // `asked` and `realised` map names of knobs to numbers or shares; either may lack some.
  add(asked, realised) {
    this.entries_.push({ asked, realised });
    if (this.entries_.length > kMost) this.entries_.shift();
  }

  clear() {
    this.entries_ = [];
  }

  get size() {
    return this.entries_.length;
  }

  // One entry a sentence in which the knob shows at all.
  series(name) {
    const shown = this.entries_.filter(({ realised }) => realised?.[name] !== undefined && realised[name] !== null);
    return shown.map(({ asked, realised }) => ({ asked: asked[name], came: realised[name] }));
  }

  // Mean, 95 % half-width and number of the sentences since the setting is as it is now; null if there are none.
  // Of shares there is an object of means and no half-width.
  summary(name, setting) {
    const since = [];
    for (const entry of this.series(name).reverse()) {
      if (!same_setting(entry.asked, setting)) break;
      since.push(entry.came);
    }
    if (since.length === 0) return null;
    if (typeof since[0] === "object") return { count: since.length, mean: mean_shares(since) };
    const mean = since.reduce((sum, value) => sum + value, 0) / since.length;
    const variance = since.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, since.length - 1);
    return { count: since.length, mean, half_width: since.length > 1 ? 1.96 * Math.sqrt(variance / since.length) : null };
  }
}

function mean_shares(list) {
  const sums = {};
  for (const shares of list) {
    for (const [name, share] of Object.entries(shares)) sums[name] = (sums[name] ?? 0) + share / list.length;
  }
  return sums;
}
