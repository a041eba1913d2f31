/** Light, dark, or as the system has it; the choice is kept where the browser allows it. */
import { h, icon } from "./dom.ts";

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];
const key = "strided-explorer-theme";

export function themeButton(): HTMLButtonElement {
  let theme = stored();
  const button = h("button", { type: "button", class: "icon" }, icon("theme"));
  const apply = () => {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.title = `Colours: ${theme === "system" ? "as the system" : theme}`;
    button.setAttribute("aria-label", button.title);
  };
  button.addEventListener("click", () => {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try {
      localStorage.setItem(key, theme);
    } catch {
      // Not kept, then.
    }
    apply();
  });
  apply();
  return button;
}

function stored(): Theme {
  try {
    return themes.find((t) => t === localStorage.getItem(key)) ?? "system";
  } catch {
    return "system";
  }
}
