// SPDX-License-Identifier: Apache-2.0
// Opens every page of the menu of a running router with a click, and prints one JSON object: by page, the milliseconds
// from the click until it is usable, one number for each round. A round is a tab of its own, in which each page is opened
// once, some seconds after the first one: what the interface loads ahead is there. Usable is the first frame in which the page's own heading stands,
// everything that it asked the router for has come, and the page has had a frame to show it.
// WEIR_URL, WEIR_ADMIN_USER and WEIR_ADMIN_PASSWORD (one-time or own) say which router; ROUNDS how often.
import { chromium } from "@playwright/test";
import { OWN_PASSWORD, Router } from "./screens/router.mjs";
import { CHROMIUM } from "./chromium.mjs";

const url = process.env.WEIR_URL ?? "http://127.0.0.1:8080";
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const QUIET_MS = 300;
const LIMIT_MS = 10_000;
const BETWEEN_MS = 200;
const AHEAD_MS = 5_000;

/** In the page, before its own scripts: how many answers it waits for. The stream of measurements never ends. */
const countAnswers = () => {
  localStorage.setItem("weir.tour", "over");
  window.waitingFor = 0;
  const ask = window.fetch;
  window.fetch = async (...request) => {
    window.waitingFor += 1;
    try {
      const answer = await ask(...request);
      await answer.clone().arrayBuffer();
      return answer;
    } finally {
      window.waitingFor -= 1;
    }
  };
};

/** In the page: clicks the link of the menu, and returns after how many milliseconds its page was usable. */
const opened = async ({ at, quietMs, limitMs }) => {
  const frame = () =>
    new Promise((next) => requestAnimationFrame(() => setTimeout(() => next(performance.now()))));
  const link = [...document.querySelectorAll("nav[aria-label=Main] a")].find(
    (one) => one.getAttribute("href") === at,
  );
  const left = document.querySelector("main h1");
  const begun = performance.now();
  link.click();
  let usable = null;
  for (let now = begun; now - begun < limitMs; now = await frame()) {
    const heading = document.querySelector("main h1");
    const stands =
      heading !== null && heading !== left && document.querySelector("main [aria-label=Loading]") === null;
    if (!stands || window.waitingFor > 0) usable = null;
    else usable ??= now;
    if (usable !== null && now - usable > quietMs) return usable - begun;
  }
  throw new Error(`${at} was not usable within ${limitMs} ms`);
};

async function pagesOfMenu(page) {
  const folded = page.locator("nav[aria-label=Main] button[aria-expanded=false]");
  while ((await folded.count()) > 0) await folded.first().click();
  const links = page.locator("nav[aria-label=Main] a");
  return links.evaluateAll((all) => all.map((link) => link.getAttribute("href")).filter((at) => at !== "/"));
}

async function round(context, found) {
  const page = await context.newPage();
  await page.goto(url);
  await page.locator("main h1").waitFor();
  await page.waitForTimeout(AHEAD_MS);
  // The first page is opened last, from another one.
  for (const at of [...(await pagesOfMenu(page)), "/"]) {
    const ms = await page.evaluate(opened, { at, quietMs: QUIET_MS, limitMs: LIMIT_MS });
    (found[at] ??= []).push(Math.round(ms));
    await page.waitForTimeout(BETWEEN_MS);
  }
  await page.close();
}

const browser = await chromium.launch(CHROMIUM);
const found = {};
try {
  const context = await browser.newContext({ baseURL: url, viewport: { width: 1440, height: 900 } });
  await context.addInitScript(countAnswers);
  const user = process.env.WEIR_ADMIN_USER ?? "admin";
  const router = new Router(context, {
    url,
    user,
    password: process.env.WEIR_ADMIN_PASSWORD ?? OWN_PASSWORD,
  });
  await router.signInForGood();
  for (let number = 0; number < ROUNDS; number++) await round(context, found);
} finally {
  await browser.close();
}
console.log(JSON.stringify(found));
process.exit(0);
