// Numbers as people read them.

export function clamped(value, minimum, maximum) {
  return Math.min(maximum, Math.max(minimum, value));
}

// The step of a slider: fine enough to hear, coarse enough to hit.
export function step_of(minimum, maximum) {
  const range = maximum - minimum;
  return range <= 2 ? 0.01 : range <= 20 ? 0.1 : 1;
}

export function decimals_of(step) {
  return step >= 1 ? 0 : step >= 0.1 ? 1 : 2;
}

// Three significant places of a probability, small ones included.
export function probability_text(value) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  if (value < 0.0005) return value.toExponential(0);
  return value.toFixed(3);
}

export function speed_text(tokens_per_second) {
  const rounded = tokens_per_second >= 100 ? Math.round(tokens_per_second / 10) * 10 : Math.round(tokens_per_second);
  return rounded.toLocaleString("en") + " tokens/s";
}

// A setting as one reads it: 0.70, or "?" 60 %, "." 40 %.
export function setting_text(value) {
  if (value === undefined || value === null) return "free";
  if (typeof value === "number") return Number.isInteger(value) && Math.abs(value) > 1 ? String(value) : value.toFixed(2);
  const shares = Object.entries(value).filter(([, share]) => share > 0.005);
  return shares.map(([name, share]) => `${name} ${Math.round(share * 100)} %`).join(", ");
}
