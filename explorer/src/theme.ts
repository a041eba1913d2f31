/** Light, dark, or as the system has it; the choice is kept where the browser allows it. */
import { h, icon } from "./dom.ts";

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];
const key = "strided-explorer-theme";

export function themeButton(): HTMLButtonElement {
  const button = h("button", { type: "button", class: "icon" }, icon("theme"));
  button.addEventListener("click", () => nextTheme(button));
  applyTheme(button);
  return button;
}

/** Shows the page in the colours that were chosen last; the button says which. */
export function applyTheme(button: HTMLButtonElement, theme = stored()): void {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  button.title = `Colours: ${theme === "system" ? "as the system" : theme}`;
  button.setAttribute("aria-label", button.title);
  button.dataset.theme = theme;
}

export function nextTheme(button: HTMLButtonElement): void {
  const now = themes.indexOf((button.dataset.theme ?? "system") as Theme);
  const theme = themes[(now + 1) % themes.length];
  try {
    localStorage.setItem(key, theme);
  } catch {
    // Not kept, then.
  }
  applyTheme(button, theme);
}

function stored(): Theme {
  try {
    return themes.find((t) => t === localStorage.getItem(key)) ?? "system";
  } catch {
    return "system";
  }
}
