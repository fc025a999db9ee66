// Light, dark, or as the system has it.

const kKey = "semfuse.theme";
const kThemes = ["auto", "light", "dark"];

function stored() {
  try {
    return kThemes.find((theme) => theme === localStorage.getItem(kKey)) ?? "auto";
  } catch {
    return "auto";
  }
}

export function offer_themes(select) {
  const apply = (theme) => {
    for (const name of kThemes) document.documentElement.classList.toggle(`theme-${name}`, name === theme);
  };
  select.value = stored();
  apply(select.value);
  select.addEventListener("change", () => {
    apply(select.value);
    try {
      localStorage.setItem(kKey, select.value);
    } catch {
      // Then it holds until the page is left.
    }
  });
}
