import type { JSX } from "preact";

/** 24 by 24, drawn with a line. */
const PATHS = {
  start: "M5 12h14M13 6l6 6-6 6",
  live: "M3 12h4l3-8 4 16 3-8h4",
  schema: "M4 5h16M4 5v14h16V5M4 10h16M10 10v9",
  dataset:
    "M12 3c4.400 0 8 1.300 8 3s-3.600 3-8 3-8-1.300-8-3 3.600-3 8-3ZM4 6v12c0 1.700 3.600 3 8 3s8-1.300 8-3V6M4 12c0 1.700 3.600 3 8 3s8-1.300 8-3",
  letter: "M4 6h16v12H4zM4 7l8 6 8-6",
  search: "M10.500 4a6.500 6.500 0 1 1 0 13 6.500 6.500 0 0 1 0-13ZM15.500 15.500 20 20",
  person: "M12 4a4 4 0 1 1 0 8 4 4 0 0 1 0-8ZM4.500 20c.8-3.600 3.800-5.500 7.500-5.500s6.700 1.900 7.500 5.500",
  why: "M5 12a2 2 0 1 1 0 .01M19 6a2 2 0 1 1 0 .01M19 18a2 2 0 1 1 0 .01M7 11l10-4.500M7 13l10 4.500",
  undo: "M8 5 4 9l4 4M4 9h10a5.500 5.500 0 0 1 0 11h-4",
  replay:
    "M19.500 10A8 8 0 0 0 5 8.500L3.500 10M3.500 5v5h5M4.500 14a8 8 0 0 0 14.500 1.500l1.500-1.500M20.500 19v-5h-5",
  changes: "M12 7v5l3.500 2M12 3.500a8.500 8.500 0 1 1 0 17 8.500 8.500 0 0 1 0-17Z",
  shared:
    "M12 8a3 3 0 1 1 0 .01M5 19a2 2 0 1 1 0 .01M19 19a2 2 0 1 1 0 .01M12 19a2 2 0 1 1 0 .01M11 11l-5 6M12 11v6M13 11l5 6",
  forbidden: "M12 3.500a8.500 8.500 0 1 1 0 17 8.500 8.500 0 0 1 0-17ZM6 6l12 12",
  audience:
    "M9 5a3.500 3.500 0 1 1 0 7 3.500 3.500 0 0 1 0-7ZM2.500 19.500c.6-3 3-5 6.500-5s5.900 2 6.500 5M16 5.300a3.500 3.500 0 0 1 0 6.400M18 15c1.900.8 3.100 2.300 3.500 4.500",
  erase: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13M10.500 11v5M13.500 11v5",
  key: "M8 11a4 4 0 1 1 0 8 4 4 0 0 1 0-8ZM11 12l8.500-8.500M16 7l3 3",
  namespace: "M4 9h16M4 15h16M10 4 8 20M16 4l-2 16",
  settings: "M4 7h9M17 7h3M15 5v4M4 17h3M11 17h9M9 15v4",
  stats: "M4 20h16M7 20v-7M12 20V5M17 20v-10",
  feed: "M5 5c8 0 14 6 14 14M5 11c4.500 0 8 3.500 8 8M6 18h.01",
  webhook:
    "M12 3a2.500 2.500 0 1 1 0 5 2.500 2.500 0 0 1 0-5ZM5.500 15.500a2.500 2.500 0 1 1 0 5 2.500 2.500 0 0 1 0-5ZM18.500 15.500a2.500 2.500 0 1 1 0 5 2.500 2.500 0 0 1 0-5ZM10.800 7.700 6.700 15.800M13.200 7.700l4.100 8.100M8 18h8",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  done: "M5 12.500 10 17 19 7",
  close: "M6 6l12 12M18 6 6 18",
  menu: "M4 7h16M4 12h16M4 17h16",
  more: "M6 9l6 6 6-6",
  pause: "M9 5v14M15 5v14",
  play: "M8 5l11 7-11 7z",
  sun: "M12 8a4 4 0 1 1 0 8 4 4 0 0 1 0-8ZM12 2v2M12 20v2M4.900 4.900l1.400 1.400M17.700 17.700l1.400 1.400M2 12h2M20 12h2M4.900 19.100l1.400-1.400M17.700 6.300l1.400-1.400",
  moon: "M19.500 14.500A8 8 0 0 1 9.500 4.500a8 8 0 1 0 10 10Z",
  screen: "M4 5h16v11H4zM9 20h6M12 16v4",
  out: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
  add: "M12 5v14M5 12h14",
  warning: "M12 4 2.500 20h19zM12 10v5M12 17.500v.01",
  external: "M14 4h6v6M20 4l-9 9M18 14v6H4V6h6",
} as const;

export type IconName = keyof typeof PATHS;

/** A picture beside a word, so a screen reader passes it over. */
export const Icon = ({ name }: { readonly name: IconName }): JSX.Element => (
  <svg
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="1.8"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d={PATHS[name]} />
  </svg>
);

export const Logo = (): JSX.Element => (
  <svg viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="7" fill="#0f766e" />
    <path d="M11.500 12.500 16 20l4.500-7.500z" fill="none" stroke="#fff" stroke-width="2.400" opacity=".75" />
    <g fill="#fff">
      <circle cx="11" cy="11.500" r="3.600" />
      <circle cx="21" cy="11.500" r="3.600" />
      <circle cx="16" cy="21.500" r="3.600" />
    </g>
  </svg>
);
