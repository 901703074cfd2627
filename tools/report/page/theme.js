// Runs in <head>, before anything is painted, so that a dark page never flashes white.
"use strict";
// Errors are shown on the page, not only in the console.
addEventListener("error", (event) => {
  const text = event.message || "an element could not be loaded";
  document.documentElement.dataset.errors = ((document.documentElement.dataset.errors || "") + " " + text).trim();
  const box = document.getElementById("trouble");
  if (box) box.textContent = "Part of this page could not be drawn: " + document.documentElement.dataset.errors;
}, true);
const theme = {
  choices: ["auto", "light", "dark"],
  choice: "auto",
  system: matchMedia("(prefers-color-scheme: dark)"),
  dark() { return this.choice === "dark" || (this.choice === "auto" && this.system.matches); },
  apply() { document.documentElement.dataset.theme = this.dark() ? "dark" : "light"; },
};
try {  // storage may be forbidden for local files
  const kept = localStorage.getItem("sinklab-theme");
  if (theme.choices.includes(kept)) theme.choice = kept;
} catch (error) { theme.choice = "auto"; }
theme.apply();
