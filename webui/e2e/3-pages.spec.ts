// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Page } from "@playwright/test";
import { EVERY_PAGE, expect, firstQueue, settled, signIn, test } from "./router";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
interface AxeResult {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** Runs inside the page's own world, because the policy of the page allows no script of ours. */
async function seriousFindings(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setBypassCSP", { enabled: true });
  await page.evaluate(AXE);
  const result = await page.evaluate(() =>
    (window as unknown as { axe: { run: (options: object) => Promise<unknown> } }).axe.run({
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    }),
  );
  return (result as AxeResult).violations
    .filter((violation) => ["serious", "critical"].includes(violation.impact))
    .map(
      (violation) =>
        `${violation.id}: ${violation.nodes
          .map((node) => `${node.html} ${node.failureSummary}`)
          .slice(0, 3)
          .join(" | ")}`,
    );
}

for (const scheme of ["light", "dark"] as const) {
  test(`no page has a serious accessibility finding, ${scheme}`, async ({ page }) => {
    test.setTimeout(240_000);
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    await signIn(page);
    const found: string[] = [];
    for (const path of [...EVERY_PAGE, await firstQueue(page)]) {
      await page.goto(path);
      await settled(page);
      found.push(...(await seriousFindings(page)).map((finding) => `${path} ${finding}`));
    }
    expect(found).toEqual([]);
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
