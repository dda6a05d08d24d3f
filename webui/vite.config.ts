// SPDX-License-Identifier: Apache-2.0
import react from "@vitejs/plugin-react";
import path from "node:path";
import { defineConfig } from "vitest/config";

/** `npm run dev` serves the UI with hot reload and passes the API on to a running router. */
const router = process.env.WEIR_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { "@": path.resolve(import.meta.dirname, "src") } },
  build: {
    outDir: "../build/webui",
    emptyOutDir: true,
    target: "es2022",
    manifest: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { "/api": { target: router, changeOrigin: false } } },
  test: {
    environment: "jsdom",
    setupFiles: ["test/setup.ts"],
    css: false,
    restoreMocks: true,
    testTimeout: 60_000,
    projects: [
      // To load the modules and to make a page cost most of a file's time. test/setup.ts clears what tests leave there.
      {
        extends: true,
        test: { name: "shared", isolate: false, include: ["test/*.test.{ts,tsx}"] },
      },
      // In place of a module that the others have really loaded.
      { extends: true, test: { name: "alone", include: ["test/alone/*.test.{ts,tsx}"] } },
    ],
  },
});
