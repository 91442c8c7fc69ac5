import type { JSX } from "preact";
import { theme, type Theme } from "../state/theme.js";
import { useStore } from "../state/store.js";
import { Button } from "../ui/kit.js";
import type { IconName } from "../ui/icons.js";

const NEXT: Readonly<Record<Theme, readonly [next: Theme, icon: IconName, label: string]>> = {
  system: ["light", "screen", "Theme: as the system"],
  light: ["dark", "sun", "Theme: light"],
  dark: ["system", "moon", "Theme: dark"],
};

export function ThemeButton(): JSX.Element {
  const [next, icon, label] = NEXT[useStore(theme)];
  return <Button kind="quiet" isSmall icon={icon} label={label} onClick={() => theme.set(next)} />;
}
