// SPDX-License-Identifier: Apache-2.0
import type { Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
/** All rules are applied; what passed is not told, nor how to select what did not. That took 44 % of the time. */
const ONLY_FAULTS = { resultTypes: ["violations"], selectors: false };
interface AxeResult {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** Runs inside the page's own world, because the policy of the page allows no script of ours. */
async function findings(page: Page, only: object): Promise<string[]> {
  const result = (await page.evaluate(
    (options) =>
      (window as unknown as { axe: { run: (options: object) => Promise<unknown> } }).axe.run(options),
    { runOnly: only, ...ONLY_FAULTS },
  )) as AxeResult;
  return result.violations
    .filter((violation) => ["serious", "critical"].includes(violation.impact))
    .map(
      (violation) =>
        `${violation.id}: ${violation.nodes
          .map((node) => `${node.html} ${node.failureSummary}`)
          .slice(0, 3)
          .join(" | ")}`,
    );
}

/** What axe finds serious of the page as it is: by every rule in light, and by contrast in dark, as nothing else differs. */
export async function seriousFindings(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  await session.send("Page.setBypassCSP", { enabled: true });
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
  const light = await findings(page, { type: "tag", values: RULES });
  await page.emulateMedia({ colorScheme: "dark", reducedMotion: "reduce" });
  const dark = await findings(page, { type: "rule", values: ["color-contrast"] });
  await session.detach();
  return [...light.map((found) => `light ${found}`), ...dark.map((found) => `dark ${found}`)];
}
