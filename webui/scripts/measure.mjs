// SPDX-License-Identifier: Apache-2.0
// Measures the built interface on a router that lives in memory with 10,000 queues, every one of them moving each
// second, and 10,000 static routes, and prints one JSON object: {"scroll_fps": [...], "live_ms": [...]}, one number
// for each round.
//   scroll_fps  frames per second while the list of queues is scrolled through, by the frames that the page was given
//   scroll_ms   main-thread time of each of those frames, in CPU time, which the load of others does not change
//   kind_fps, kind_ms  the same of the list of static routes, which follows from the declaration as all others do
//   live_ms     main-thread time of one update of 100 visible rows, by the browser's own count of task time,
//               less what the page does in the same time when no measurement arrives
import { chromium } from "@playwright/test";
import path from "node:path";
import { preview } from "vite";
import { CHROMIUM } from "./chromium.mjs";

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const QUEUES = 10_000;
const ROUTES = 10_000;
const ROWS = 100;
const ROW_PX = 26;
const SCROLL_S = 4;
const SCROLL_PX_PER_S = 4_000;
const LIVE_S = 8;
const root = path.resolve(import.meta.dirname, "..");

/** Scrolls the grid at an even speed and counts the frames; the last row reached tells that it really went there. */
const scrolled = async ({ seconds, speed }) => {
  const grid = document.querySelector("[role=grid]");
  grid.scrollTop = 0;
  const begun = performance.now();
  let frames = 0;
  for (;;) {
    const now = await new Promise((next) => requestAnimationFrame(next));
    frames += 1;
    const spent = now - begun;
    if (spent >= seconds * 1000) return { fps: (frames * 1000) / spent, reached: grid.scrollTop };
    grid.scrollTop = (spent / 1000) * speed;
  }
};

const BREAKDOWN =
  process.env.BREAKDOWN === "1" ? ["ScriptDuration", "LayoutDuration", "RecalcStyleDuration"] : [];
async function taskMs(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  for (const name of BREAKDOWN) console.error(name, metrics.find((metric) => metric.name === name).value);
  return 1000 * metrics.find((metric) => metric.name === "TaskDuration").value;
}

/** Task time over LIVE_S seconds, in milliseconds per update that came: a busy machine sends fewer. */
async function perUpdate(page, session) {
  const came = () => page.evaluate(() => window.updates);
  const [first, before] = [await came(), await taskMs(session)];
  await page.waitForTimeout(LIVE_S * 1000);
  const spent = (await taskMs(session)) - before;
  const updates = (await came()) - first;
  if (updates < LIVE_S / 2) throw new Error(`only ${updates} updates came in ${LIVE_S} s`);
  return spent / updates;
}

const QUEUE_LIST = { path: "/queues", ready: (page) => page.getByTestId("rate-download").first() };
const KIND_LIST = { path: "/routes", ready: (page) => page.getByRole("button", { name: "10.0.1.0/24" }) };

async function scrollRound(browser, url, { path: where, ready }) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(`${url}${where}`);
  await ready(page).waitFor();
  await page.waitForTimeout(1_000);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = await taskMs(session);
  const { fps, reached } = await page.evaluate(scrolled, { seconds: SCROLL_S, speed: SCROLL_PX_PER_S });
  if (reached < SCROLL_S * SCROLL_PX_PER_S * 0.9)
    throw new Error(`the list was scrolled to ${reached} px only`);
  const ms = ((await taskMs(session)) - before) / (fps * SCROLL_S);
  await page.close();
  return { fps, ms };
}

/** A cell as it is called, and as it is seen: it is drawn, not laid out. */
const shown = async (cell) => ({
  name: await cell.getAttribute("aria-label"),
  picture: (await cell.screenshot()).toString("base64"),
});

async function liveRound(browser, url) {
  const page = await browser.newPage({ viewport: { width: 1440, height: ROWS * ROW_PX + 160 } });
  await page.addInitScript(() => {
    const Real = window.EventSource;
    window.silent = false;
    window.updates = 0;
    window.EventSource = class extends Real {
      addEventListener(name, take) {
        super.addEventListener(name, (event) => {
          if (name === "queues") window.updates += 1;
          if (!window.silent) take(event);
        });
      }
    };
  });
  await page.goto(`${url}/queues`);
  await page
    .getByTestId("rate-download")
    .nth(ROWS - 1)
    .waitFor();
  await page.waitForTimeout(2_000);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const first = page.getByTestId("rate-download").nth(ROWS / 2);
  const before = await shown(first);
  const moving = await perUpdate(page, session);
  const after = await shown(first);
  if (before.name === after.name || before.picture === after.picture) throw new Error("no rate has moved");
  await page.evaluate(() => (window.silent = true));
  await page.waitForTimeout(5_000); // until the page has said that its data is old
  const still = await perUpdate(page, session);
  await page.close();
  return Math.max(0, moving - still);
}

process.env.QUEUES = String(QUEUES);
process.env.ROUTES = String(ROUTES);
const server = await preview({
  root,
  configFile: path.join(root, "vite.mock.config.ts"),
  preview: { port: 0, host: "127.0.0.1" },
  logLevel: "error",
});
const url = server.resolvedUrls.local[0].replace(/\/$/, "");
const browser = await chromium.launch(CHROMIUM);
const result = { scroll_fps: [], scroll_ms: [], kind_fps: [], kind_ms: [], live_ms: [] };
try {
  for (let round = 0; round < ROUNDS; round++) {
    const queues = await scrollRound(browser, url, QUEUE_LIST);
    result.scroll_fps.push(queues.fps);
    result.scroll_ms.push(queues.ms);
    const routes = await scrollRound(browser, url, KIND_LIST);
    result.kind_fps.push(routes.fps);
    result.kind_ms.push(routes.ms);
    result.live_ms.push(await liveRound(browser, url));
  }
} finally {
  await browser.close();
  server.httpServer.close();
}
console.log(JSON.stringify(result));
process.exit(0);
