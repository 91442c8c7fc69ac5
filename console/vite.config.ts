import { defineConfig } from "vite";

/** Relative addresses, for a proxy that puts a prefix before them; hashes in the names, so that a browser keeps the files for ever. */
export default defineConfig({
  root: "console",
  base: "./",
  publicDir: false,
  logLevel: "warn",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../dist/console",
    emptyOutDir: true,
    target: "es2022",
    // Inlined, a picture would be text of the script; there are none that large.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
