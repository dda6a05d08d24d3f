// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "@playwright/test";
import { CHROMIUM } from "./scripts/chromium.mjs";

export default defineConfig({
  testDir: "e2e",
  outputDir: "../build/test/playwright",
  workers: 1,
  timeout: 90_000,
  expect: { timeout: 15_000 },
  reporter: "line",
  use: {
    baseURL: process.env.WEIR_URL ?? "http://127.0.0.1:8080",
    viewport: { width: 1440, height: 900 },
    launchOptions: CHROMIUM,
    // A trace doubles what a story computes: it is kept when one that failed is told again, or with --trace on.
    trace: process.env.WEIR_AGAIN ? "retain-on-failure" : "off",
    screenshot: "only-on-failure",
  },
});
