import { createStore } from "./store.js";

export type Theme = "system" | "light" | "dark";
const KEPT = "onym.theme";

const kept = (): Theme => {
  const told = localStorage.getItem(KEPT);
  return told === "light" || told === "dark" ? told : "system";
};

export const theme = createStore<Theme>(kept());

const apply = (chosen: Theme): void => {
  if (chosen === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = chosen;
};
apply(theme.get());
theme.listen((chosen) => {
  apply(chosen);
  if (chosen === "system") localStorage.removeItem(KEPT);
  else localStorage.setItem(KEPT, chosen);
});
