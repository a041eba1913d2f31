/** Runs before the page is drawn: the colours that were chosen last, here or in the explorer. */
try {
  const theme = localStorage.getItem("strided-explorer-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // As the system has it, then.
}
