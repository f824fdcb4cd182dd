/**
 * One page, one program, one sheet of style, under names that stay: the server serves these three and nothing else.
 */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  base: "/",
  resolve: {
    alias: {
      "dustup-client": at("../js/src/index.ts"),
      "@msgpack/msgpack": at("node_modules/@msgpack/msgpack"),
      "@terminal": at("../terminal/app/catalogue"),
    },
  },
  build: {
    outDir: process.env["DUSTUP_APP"] ?? at("../../server/gateway/app"),
    emptyOutDir: false,
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    rolldownOptions: {
      output: { entryFileNames: "app.js", assetFileNames: "style.css", codeSplitting: false },
    },
  },
  server: { proxy: { "/v1": { target: process.env["DUSTUP"] ?? "http://127.0.0.1:8750", ws: true } } },
});
