// SPDX-License-Identifier: Apache-2.0
// Every screen of a running router into build/screenshots/<size>-<screen>-<scheme>-<width>.png. Each screen is
// brought up once and pictured light and dark, wide and narrow; what is on it is real.
// WEIR_URL, WEIR_ADMIN_PASSWORD (one-time or own) and SIZE (few, 10000, none, or agent-away) say which router in
// which state; SCREENS=queues,history takes only those.
import { chromium } from "@playwright/test";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { OWN_PASSWORD, Router } from "./screens/router.mjs";
import { screensFor } from "./screens/screens.mjs";
import { CHROMIUM } from "./chromium.mjs";

const url = process.env.WEIR_URL ?? "http://127.0.0.1:8080";
const password = process.env.WEIR_ADMIN_PASSWORD ?? OWN_PASSWORD;
const user = process.env.WEIR_ADMIN_USER ?? "admin";
const size = process.env.SIZE ?? "few";
const only = process.env.SCREENS?.split(",");
const out = path.resolve(import.meta.dirname, "../../build/screenshots");
const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 390, height: 844 };
const SETTLE_MS = 400;
const LIVE_WITHIN_MS = 4_000;

/** Waits until nothing loads and what is live has its first number; a page without either is ready at once. */
async function settled(page) {
  await page.waitForFunction(
    () => document.querySelector("h1") !== null && document.querySelector("[aria-label=Loading]") === null,
    undefined,
    { timeout: 15_000 },
  );
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  const hasNumber = () => {
    const cells = [...document.querySelectorAll("[data-testid^=rate-]")];
    return cells.length === 0 || cells.some((cell) => /\d/.test(cell.ariaLabel ?? cell.textContent ?? ""));
  };
  await page.waitForFunction(hasNumber, undefined, { timeout: LIVE_WITHIN_MS }).catch(() => undefined);
  await page.waitForTimeout(SETTLE_MS);
}

async function picture(page, name) {
  for (const viewport of [WIDE, NARROW]) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.waitForTimeout(SETTLE_MS);
      await page.screenshot({ path: path.join(out, `${size}-${name}-${colorScheme}-${viewport.width}.png`) });
    }
  }
}

async function take(context, router, [name, screen]) {
  const page = await context.newPage();
  try {
    await page.setViewportSize(WIDE);
    await page.goto(url + (typeof screen.at === "function" ? await screen.at(router) : screen.at));
    await settled(page);
    await screen.show?.(page, router);
    if (screen.show) await page.waitForTimeout(SETTLE_MS);
    await picture(page, name);
    return true;
  } catch (error) {
    console.error(`${size} ${name}: ${error instanceof Error ? error.message.split("\n")[0] : error}`);
    return false;
  } finally {
    await screen.after?.(page, router);
    await page.close();
  }
}

const browser = await chromium.launch(CHROMIUM);
mkdirSync(out, { recursive: true });
const begun = Date.now();
const outside = await browser.newContext({ baseURL: url });
const inside = await browser.newContext({ baseURL: url });
await inside.addInitScript(() => localStorage.setItem("weir.tour", "over"));
const router = new Router(inside, { url, user, password });
const wanted = screensFor(size).filter(([name]) => !only || only.includes(name));
const failed = [];
try {
  for (const entry of wanted) {
    if (entry[1].before === "password") await router.signIn();
    else if (entry[1].before !== "sign-in") await router.signInForGood();
    if (!(await take(entry[1].before === "sign-in" ? outside : inside, router, entry))) failed.push(entry[0]);
  }
} finally {
  await browser.close();
}
console.log(
  `${wanted.length - failed.length} screens of size "${size}", ${4 * (wanted.length - failed.length)} pictures, in ${Math.round((Date.now() - begun) / 1000)} s: ${out}`,
);
if (failed.length > 0) {
  console.error(`not taken: ${failed.join(", ")}`);
  process.exit(1);
}
