// Elements without markup: texts of people and of models become text nodes, never HTML.

const kSvg = "http://www.w3.org/2000/svg";

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on_")) node.addEventListener(name.slice(3), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

// An element with attributes; `on_click` and the like are listeners, strings among the children become text.
export function make(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function make_svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(kSvg, tag), attributes, children);
}

export function by_id(id) {
  return document.getElementById(id);
}

// A custom property, set through the object model, which the content security policy allows.
export function set_property(node, name, value) {
  node.style.setProperty(name, String(value));
}

// Calls `action` at once, then at most once in `milliseconds`, with the latest arguments last.
export function throttled(milliseconds, action) {
  let timer = null;
  let waiting = null;
  const tick = () => {
    timer = null;
    if (waiting === null) return;
    const latest = waiting;
    waiting = null;
    timer = setTimeout(tick, milliseconds);
    action(...latest);
  };
  return (...parameters) => {
    waiting = parameters;
    if (timer === null) tick();
  };
}

// Calls `action` once nothing has been asked for `milliseconds`.
export function settled(milliseconds, action) {
  let timer = null;
  return (...parameters) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...parameters), milliseconds);
  };
}
