// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from "@playwright/test";

/** Debian's Chromium, kept from looking for anything outside of the lab. */
export const CHROMIUM = {
  executablePath: process.env.WEIR_CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

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
