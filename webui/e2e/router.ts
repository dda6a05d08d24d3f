// SPDX-License-Identifier: Apache-2.0
import { test as base, expect, type BrowserContext, type Locator, type Page } from "@playwright/test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** What the stories know of the router they run against. */
export const USER = process.env.WEIR_ADMIN_USER ?? "admin";
const FIRST_PASSWORD = process.env.WEIR_ADMIN_PASSWORD ?? process.env.WEIR_PASSWORD ?? "";
export const OWN_PASSWORD = "a quiet weir by the mill";

/** A token from the environment or from the lab's description. */
export function apiToken(): string {
  if (process.env.WEIR_TOKEN) return process.env.WEIR_TOKEN;
  const lab = JSON.parse(readFileSync(process.env.WEIR_LAB_JSON ?? "../build/lab.json", "utf8")) as {
    token: string;
  };
  return lab.token;
}

export async function typePassword(page: Page, password: string, user = USER): Promise<void> {
  await page.getByLabel("User name").fill(user);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const KEPT = "../build/test/ui-session.json";
type Cookies = Parameters<BrowserContext["addCookies"]>[0];

/** Sessions are kept between stories: each wrong guess of a password would be answered more slowly. */
function keptCookies(): Cookies {
  if (!existsSync(KEPT)) return [];
  const kept = JSON.parse(readFileSync(KEPT, "utf8")) as { router: string; cookies: Cookies };
  return kept.router === FIRST_PASSWORD ? kept.cookies : [];
}

async function keepCookies(page: Page): Promise<void> {
  mkdirSync("../build/test", { recursive: true });
  writeFileSync(KEPT, JSON.stringify({ router: FIRST_PASSWORD, cookies: await page.context().cookies() }));
}

/** The browser's own page for a router that does not answer has no storage to write to. */
export function tourIsOver(): void {
  if (location.protocol.startsWith("http")) localStorage.setItem("weir.tour", "over");
}

/** Signs in as a person does; the first time the one-time password has to be replaced. */
export async function signIn(page: Page, address = "/", { tour = false } = {}): Promise<void> {
  if (!tour) await page.addInitScript(tourIsOver);
  const cookies = keptCookies();
  await page.context().addCookies(cookies);
  await page.goto(address);
  const home = page.getByRole("button", { name: /^Account:/ });
  const choose = page.getByRole("heading", { name: "Choose your password" });
  await expect(page.getByRole("button", { name: "Sign in" }).or(home)).toBeVisible();
  if (await home.isVisible()) return;
  await typePassword(page, cookies.length > 0 ? OWN_PASSWORD : FIRST_PASSWORD);
  await expect(home.or(choose)).toBeVisible();
  if (await choose.isVisible()) await choosePassword(page);
  await expect(home).toBeVisible();
  await keepCookies(page);
}

async function choosePassword(page: Page): Promise<void> {
  await page.getByRole("textbox", { name: "One-time password" }).fill(FIRST_PASSWORD);
  await page.getByRole("textbox", { name: "New password", exact: true }).fill(OWN_PASSWORD);
  await page.getByRole("textbox", { name: "New password again" }).fill(OWN_PASSWORD);
  await page.getByRole("button", { name: "Change the password" }).click();
}

/** Stages nothing, waits for nothing: the bar at the bottom, by its name. */
export const pendingBar = (page: Page) => page.getByRole("region", { name: "Pending changes" });
export const confirmBar = (page: Page) => page.getByRole("region", { name: "Confirmation" });

/** Commits what is pending; `window` is an option of the timer, such as "within 20 seconds". */
export async function commitPending(page: Page, message: string, window?: string): Promise<void> {
  await pendingBar(page)
    .getByRole("button", { name: window ? "Commit with timer" : "Commit", exact: true })
    .click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Why").fill(message);
  if (window) await dialog.getByLabel("Roll back by itself").selectOption({ label: window });
  await dialog.getByRole("button", { name: /^Commit/ }).click();
  await expect(dialog).toBeHidden();
}

/** A customer's queue without a burst: its limits may be anything. */
export async function plainQueue(page: Page): Promise<{ id: string; name: string }> {
  const answer = await page.request.get("/api/v1/queues?limit=200&sort=name", {
    headers: { Authorization: `Bearer ${apiToken()}` },
  });
  const list = (await answer.json()) as {
    items: {
      id: string;
      name: string;
      parent: string | null;
      child_count: number;
      disabled: boolean;
      burst_limit_bps: { upload: number; download: number };
    }[];
  };
  const found = list.items.find(
    (queue) =>
      queue.parent !== null &&
      queue.child_count === 0 &&
      !queue.disabled &&
      queue.burst_limit_bps.upload + queue.burst_limit_bps.download === 0,
  );
  if (!found) throw new Error("this router has no plain queue");
  return found;
}

/** The first row whose name is the queue's, found by searching for it. */
export async function openRow(page: Page, name: string): Promise<Locator> {
  await page.goto(`/queues?q=${encodeURIComponent(name)}&sort=name`);
  const row = page.getByRole("row").nth(1);
  await expect(row).toContainText(name);
  return row;
}

const ofSource = (file: string): unknown =>
  JSON.parse(readFileSync(path.resolve(import.meta.dirname, "../src", file), "utf8"));
const { kinds: KINDS } = ofSource("kinds/names.json") as {
  kinds: Record<string, { page?: string; isSingle?: boolean }>;
};
const PAGES = ofSource("app/pages.json") as Record<string, string>;

/** The page of every declared kind, and an open form of each. */
export const KIND_PAGES: readonly string[] = Object.values(KINDS).flatMap(({ page, isSingle }) =>
  page === undefined ? [] : isSingle ? [`/${page}`] : [`/${page}`, `/${page}?edit=new`],
);

/** Addresses that bring up every page, and a form of each kind. */
export const EVERY_PAGE: readonly string[] = [
  ...Object.values(PAGES),
  ...KIND_PAGES,
  "/queues?view=tree",
  "/tuning?edit=neighbours-v4-first",
];

/** Waits until nothing loads. */
export const settled = async (page: Page): Promise<void> => {
  await expect(page.locator("h1").first()).toBeVisible();
  await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
};

interface Routed {
  navigate: (to: { href: string }) => Promise<void>;
  state: { status: string; location: { href: string }; resolvedLocation?: { href: string } };
}

/** Goes to another page as a link does, without loading the application again, and waits until nothing loads. */
export async function visit(page: Page, address: string): Promise<void> {
  await page.evaluate(
    (href) => (window as unknown as { __TSR_ROUTER__: Routed }).__TSR_ROUTER__.navigate({ href }),
    address,
  );
  await page.waitForFunction((href) => {
    const { state } = (window as unknown as { __TSR_ROUTER__: Routed }).__TSR_ROUTER__;
    const isShown = state.status === "idle" && state.resolvedLocation?.href === state.location.href;
    return isShown && window.location.pathname === new URL(href, window.location.href).pathname;
  }, address);
  await settled(page);
}

/** The address of some queue. */
export async function firstQueue(page: Page): Promise<string> {
  const answer = await page.request.get("/api/v1/queues?limit=1&sort=-max_limit_download", {
    headers: { Authorization: `Bearer ${apiToken()}` },
  });
  const list = (await answer.json()) as { items: { id: string }[] };
  return `/queues/${list.items[0]?.id ?? ""}`;
}

/** Fails a story when the page reports an error or breaks the security policy. */
export const test = base.extend<{ quiet: undefined }>({
  quiet: [
    async ({ page }, use) => {
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("console", (message) => {
        if (message.type() === "error" && /Content Security Policy|Refused to/.test(message.text()))
          complaints.push(message.text());
      });
      await use(undefined);
      expect(complaints).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };
