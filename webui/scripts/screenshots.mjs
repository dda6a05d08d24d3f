// SPDX-License-Identifier: Apache-2.0
// Every page of a running router, light and dark, wide and narrow, into build/screenshots/<size>-<page>-<scheme>-<width>.png.
// WEIR_URL, WEIR_ADMIN_PASSWORD (one-time or own) and SIZE (a word for the file names, such as few or 10000) say which router;
// PAGES=queues,history takes only those.
import { chromium } from "@playwright/test";
import { mkdirSync } from "node:fs";
import path from "node:path";

const OWN_PASSWORD = "a quiet weir by the mill";
const url = process.env.WEIR_URL ?? "http://127.0.0.1:8080";
const password = process.env.WEIR_ADMIN_PASSWORD ?? process.env.WEIR_PASSWORD ?? "";
const user = process.env.WEIR_ADMIN_USER ?? "admin";
const size = process.env.SIZE ?? "few";
const out = path.resolve(import.meta.dirname, "../../build/screenshots");
const settleMs = 3_000;
const pages = {
  overview: "/", queues: "/queues", tree: "/queues?view=tree", "queue-form": "/queues?edit=new", "queue-types": "/queue-types", import: "/import", interfaces: "/interfaces", routes: "/routes",
  firewall: "/firewall", history: "/history", users: "/users", tokens: "/users?tab=tokens", audit: "/users?tab=audit", diagnostics: "/diagnostics", about: "/about", account: "/account",
};

async function post(request, address, body, csrf) {
  const answer = await request.post(`${url}/api/v1${address}`, { data: body, headers: csrf ? { "X-CSRF-Token": csrf } : {} });
  if (!answer.ok()) throw new Error(`${address}: ${answer.status()} ${await answer.text()}`);
  return answer.status() === 204 ? {} : answer.json();
}

async function signIn(context) {
  const first = await post(context.request, "/auth/sign-in", { username: user, password });
  if (first.must_change_password) await post(context.request, "/auth/password", { old_password: password, new_password: OWN_PASSWORD }, first.csrf_token);
}

const launch = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const browser = await chromium.launch({ executablePath: process.env.WEIR_CHROMIUM ?? "/usr/bin/chromium", args: launch });
mkdirSync(out, { recursive: true });
const signedIn = await browser.newContext();
await signIn(signedIn);
const list = await (await signedIn.request.get(`${url}/api/v1/queues?limit=50&sort=-rate_download`)).json();
const busy = list.items.find((queue) => queue.parent !== null) ?? list.items[0];
if (busy) pages.queue = `/queues/${busy.id}`;
const storageState = await signedIn.storageState();
const only = process.env.PAGES?.split(",");
const wanted = Object.entries(pages).filter(([name]) => !only || only.includes(name));
let taken = 0;
for (const colorScheme of ["light", "dark"]) {
  for (const width of [1440, 390]) {
    const context = await browser.newContext({ storageState, colorScheme, viewport: { width, height: width > 1000 ? 900 : 844 } });
    const page = await context.newPage();
    for (const [name, address] of wanted) {
      await page.goto(url + address);
      await page.waitForTimeout(settleMs);
      await page.screenshot({ path: path.join(out, `${size}-${name}-${colorScheme}-${width}.png`) });
      taken += 1;
    }
    await context.close();
  }
}
await browser.close();
console.log(`${taken} pictures in ${out}`);
