// SPDX-License-Identifier: Apache-2.0
/** What pages once told or did wrong, as an operator meets it. */
import type { Page } from "@playwright/test";
import { apiToken, expect, firstQueue, openRow, pendingBar, settled, signIn, test } from "./router";

const headers = { Authorization: `Bearer ${apiToken()}` };

async function discardAll(page: Page): Promise<void> {
  await pendingBar(page).getByRole("button", { name: "Discard" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
  await expect(pendingBar(page)).toBeHidden();
}

/** Notes each time that the page says one of these while it is loaded and after. */
async function watchFor(page: Page, words: string): Promise<() => Promise<string[]>> {
  await page.addInitScript((pattern) => {
    const said: string[] = [];
    (window as unknown as { said: string[] }).said = said;
    setInterval(() => {
      const found = new RegExp(pattern).exec(document.body.innerText);
      if (found) said.push(found[0]);
    }, 50);
  }, words);
  return () => page.evaluate(() => (window as unknown as { said: string[] }).said);
}

test("an hour of which nothing was measured yet is not said to be without drops", async ({ page }) => {
  await page.route("**/stats/queues/*/history*", async (route) => {
    const answer = await route.fetch();
    const history = (await answer.json()) as Record<string, Record<string, unknown[] | null>>;
    for (const way of ["upload", "download"])
      for (const [name, values] of Object.entries(history[way] ?? {}))
        history[way]![name] = values?.map(() => null) ?? null;
    await route.fulfill({ json: history });
  });
  await signIn(page);
  const said = await watchFor(page, "Nothing was dropped");
  await page.goto(`${await firstQueue(page)}?range=1h`);
  await settled(page);
  await expect(page.getByRole("main")).toContainText(/not measured|No measurements|not known/i);
  expect(await said()).toEqual([]);
});

test("a second window that stages another change of a queue is asked whose stays", async ({ page }) => {
  await signIn(page);
  const other = await page.context().newPage();
  const stage = async (window: Page, limit: string) => {
    for (const direction of ["upload", "download"])
      await window.getByRole("textbox", { name: `Limit, ${direction}` }).fill(limit);
    await window.getByRole("button", { name: "Stage the change" }).click();
  };
  await (await openRow(page, "customer-07")).getByRole("link", { name: /customer-07/ }).click();
  await expect(page).toHaveURL(/\/queues\/.+/);
  const at = new URL(page.url()).pathname;
  for (const window of [page, other]) {
    await window.goto(`${at}?edit=true`);
    await expect(window.getByRole("textbox", { name: "Limit, upload" })).toBeVisible();
  }
  await stage(page, "7M");
  await expect(pendingBar(page)).toContainText("1 change: 1 queue");
  await stage(other, "9M");
  const dialog = other.getByRole("dialog", { name: /was changed in another window/ });
  await expect(dialog).toContainText("7M");
  await dialog.getByRole("button", { name: "Keep theirs" }).click();
  await other.close();
  await page.goto(at);
  await discardAll(page);
});

test("a form tells all its errors at once, and an empty one shows no name of nobody's port", async ({
  page,
}) => {
  await signIn(page, "/queues?edit=new");
  await page.getByRole("textbox", { name: "Limit, upload" }).fill("fast");
  await page.getByRole("textbox", { name: "Limit, download" }).fill("faster");
  await page.getByRole("button", { name: "Stage the queue" }).click();
  await expect(page.getByText('"fast" is not a rate')).toBeVisible();
  await expect(page.getByText('"faster" is not a rate')).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Name", exact: true })).toHaveAttribute(
    "aria-invalid",
    "true",
  );
  await page.goto("/interfaces?edit=new");
  const name = page.getByRole("textbox", { name: "Name", exact: true });
  await expect(name).toHaveValue("");
  const ports = (await (await page.request.get("/api/v1/interfaces", { headers })).json()) as {
    items: { id: string }[];
  };
  const examples = ports.items.map(({ id }) => `such as ${id}.100`);
  await expect.poll(async () => examples.includes((await name.getAttribute("placeholder")) ?? "")).toBe(true);
});

test("rows are taken all, by ranges and by their menu, and Ctrl-Z takes back", async ({ page }) => {
  await signIn(page, "/queues?sort=name&q=customer");
  const rows = page.getByRole("row", { name: /customer/ });
  await expect(rows.nth(5)).toBeVisible();
  const grid = page.getByRole("grid", { name: "Queues" });
  await rows.nth(1).click({ position: { x: 200, y: 8 } });
  await rows.nth(4).click({ position: { x: 200, y: 8 }, modifiers: ["Shift"] });
  await expect(page.getByText("4 queues selected")).toBeVisible();
  await grid.focus();
  await page.keyboard.press("Control+a");
  await expect(page.getByText(/^\d{2} queues selected$/)).toBeVisible();
  await page.keyboard.press("Escape");
  await rows.nth(2).click({ button: "right", position: { x: 200, y: 8 } });
  await page.getByRole("menuitem", { name: "Disable" }).click();
  await expect(pendingBar(page)).toContainText("1 change: 1 queue");
  await grid.focus();
  await page.keyboard.press("Control+z");
  await expect(pendingBar(page)).toBeHidden();
});

test("each dialog begins with the same timer, Diff shows the difference, and one button is the main one", async ({
  page,
}) => {
  await signIn(page, "/queues?sort=name&q=customer-07");
  await page.getByRole("row", { name: /customer-07/ }).click({ button: "right", position: { x: 200, y: 8 } });
  await page.getByRole("menuitem", { name: "Disable" }).click();
  await expect(pendingBar(page)).toBeVisible();
  expect(await pendingBar(page).locator("button[data-variant=filled]").count()).toBe(1);
  await pendingBar(page).getByRole("button", { name: "Diff" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("customer-07");
  await expect(dialog.getByLabel("Why")).toBeHidden();
  await page.keyboard.press("Escape");
  await pendingBar(page).getByRole("button", { name: "Commit with timer" }).click();
  const timer = dialog.getByLabel("Roll back by itself");
  const usual = await timer.inputValue();
  await page.keyboard.press("Escape");
  await discardAll(page);
  await page.goto("/history");
  await page
    .getByRole("button", { name: /^Restore/ })
    .first()
    .click();
  await expect(dialog.getByLabel("Roll back by itself")).toHaveValue(usual);
});

test("what is called upload on one page is not called sent on another", async ({ page }) => {
  await signIn(page, "/interfaces");
  await expect(page.getByRole("columnheader", { name: "↑ Upload" })).toBeVisible();
  await expect(page.getByRole("columnheader", { name: /sent|received|rx|tx/i })).toHaveCount(0);
  await page.goto("/queues");
  await expect(page.getByRole("columnheader", { name: /↑/ }).first()).toBeVisible();
  await expect(page.getByRole("columnheader", { name: /sent|received|rx|tx/i })).toHaveCount(0);
});

test("a queue that uses what it pays for is no alarm", async ({ page }) => {
  await signIn(page);
  const bars = page.getByRole("main").locator("[data-level]");
  await expect(bars.first()).toBeVisible();
  const levels = await bars.evaluateAll((found) => found.map((bar) => (bar as HTMLElement).dataset["level"]));
  expect(
    levels.filter((level) => !["none", "upload", "download", "plain", "warn"].includes(level ?? "")),
  ).toEqual([]);
});

test("queues that were just made are not said to carry nothing", async ({ page }) => {
  await signIn(page, "/about");
  const { items } = (await (await page.request.get("/api/v1/queues?limit=200", { headers })).json()) as {
    items: { id: string; name: string; target: string[]; parent: string; child_count: number }[];
  };
  const leaves = items.filter((queue) => queue.child_count === 0 && queue.parent);
  const made = leaves.map(({ name, target, parent }, index) => ({
    id: `made-${index}`,
    name,
    target,
    parent,
    max_limit_bps: { upload: 50e6, download: 50e6 },
  }));
  const answer = await page.request.post("/api/v1/queues/bulk", {
    headers,
    data: { delete: leaves.map(({ id }) => id), upsert: made },
  });
  expect(await answer.text()).not.toContain("urn:weir:problem");
  const said = await watchFor(page, "No traffic in any queue");
  await page.goto("/");
  await settled(page);
  await expect(page.getByRole("main")).toContainText(/customer-\d+/);
  expect(await said()).toEqual([]);
});
