// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import { apiToken, expect, signIn, test } from "./router";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PAGES = ["/", "/queues", "/queues?view=tree", "/queues?edit=new", "/queue-types", "/queue-types?edit=new", "/import", "/interfaces", "/routes?edit=new", "/firewall", "/history", "/users", "/users?tab=tokens", "/users?tab=audit", "/update", "/diagnostics", "/about", "/account"];

interface AxeResult {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** Runs inside the page's own world, because the policy of the page allows no script of ours. */
async function seriousFindings(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setBypassCSP", { enabled: true });
  await page.evaluate(AXE);
  const result = await page.evaluate(() => (window as unknown as { axe: { run: (options: object) => Promise<unknown> } }).axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  return (result as AxeResult).violations.filter((violation) => ["serious", "critical"].includes(violation.impact)).map((violation) => `${violation.id}: ${violation.nodes.map((node) => `${node.html} ${node.failureSummary}`).slice(0, 3).join(" | ")}`);
}

const settled = async (page: Page): Promise<void> => {
  await expect(page.locator("h1").first()).toBeVisible();
  await expect(page.getByRole("status", { name: "Loading" })).toHaveCount(0);
};

async function firstQueue(page: Page): Promise<string> {
  const answer = await page.request.get("/api/v1/queues?limit=1&sort=-max_limit_download", { headers: { Authorization: `Bearer ${apiToken()}` } });
  const list = (await answer.json()) as { items: { id: string }[] };
  return `/queues/${list.items[0]?.id ?? ""}`;
}

for (const scheme of ["light", "dark"] as const) {
  test(`no page has a serious accessibility finding, ${scheme}`, async ({ page }) => {
    test.setTimeout(240_000);
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await signIn(page);
    const found: string[] = [];
    for (const path of [...PAGES, await firstQueue(page)]) {
      await page.goto(path);
      await settled(page);
      found.push(...(await seriousFindings(page)).map((finding) => `${path} ${finding}`));
    }
    expect(found).toEqual([]);
  });
}

for (const width of [320, 390, 720]) {
  test(`no page scrolls sideways at ${width} px`, async ({ page }) => {
    test.setTimeout(240_000);
    await page.setViewportSize({ width, height: 800 });
    await signIn(page);
    const wide: string[] = [];
    for (const path of [...PAGES, await firstQueue(page)]) {
      await page.goto(path);
      await settled(page);
      const over = await page.evaluate(() => Math.max(document.documentElement.scrollWidth - window.innerWidth, ...Array.from(document.querySelectorAll("main, main > div"), (element) => element.scrollWidth - element.clientWidth)));
      if (over > 0) wide.push(`${path}: ${over} px`);
    }
    expect(wide).toEqual([]);
  });
}

test("the keyboard reaches pages, search and help", async ({ page }) => {
  await signIn(page);
  await page.keyboard.press("g");
  await page.keyboard.press("q");
  await expect(page).toHaveURL(/\/queues/);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("Go to Queues");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("histo");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/history/);
});
