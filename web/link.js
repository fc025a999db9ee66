// A state as a URL fragment and back; the fragment never leaves the browser.

export function fragment_of(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return "#" + btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// What the fragment holds, unchecked; null if it is none of ours.
export function state_in(fragment) {
  try {
    const letters = atob(fragment.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(letters, (letter) => letter.charCodeAt(0))));
  } catch {
    return null;
  }
}
