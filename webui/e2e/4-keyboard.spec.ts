// SPDX-License-Identifier: Apache-2.0
import type { Locator, Page } from "@playwright/test";
import { expect, pendingBar, signIn, test } from "./router";

const cursorRow = (page: Page): Locator => page.locator("[role=row][data-cursor=true]");
const grid = (page: Page): Locator => page.getByRole("grid", { name: "Queues" });

async function discardByKeyboard(page: Page): Promise<void> {
  await pendingBar(page).getByRole("button", { name: "Discard" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toContainText("Discard");
  await page.keyboard.press("Enter");
  await expect(pendingBar(page)).toBeHidden();
}

test("a customer is found, opened and edited without a mouse", async ({ page }) => {
  await signIn(page);
  await page.keyboard.press("/");
  const search = page.getByRole("combobox", { name: "Search everything" });
  await expect(search).toBeFocused();
  await search.fill("10.64.1.7");
  await expect(page.getByRole("option", { name: /customer-07/ })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("customer-07");
  await page.keyboard.press("e");
  const comment = page.getByRole("textbox", { name: "Comment" });
  await comment.fill("called today");
  await page.keyboard.press("Control+Enter");
  await expect(pendingBar(page)).toContainText("1 change: 1 queue");
  // The bar may know of it before the form does, and a form that is still there takes the key as text.
  await expect(comment).toBeHidden();
  await page.keyboard.press("c");
  await expect(page.getByRole("dialog").getByLabel("Why")).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toBeHidden();
  await discardByKeyboard(page);
});

test("rows are walked, selected and edited by their keys", async ({ page }) => {
  await signIn(page, "/queues?sort=name");
  await expect(page.getByRole("checkbox", { name: /^Select / }).nth(3)).toBeVisible();
  for (const key of ["j", "j", "j", "k"]) await page.keyboard.press(key);
  const second = await page.getByRole("row").nth(2).getAttribute("id");
  await expect(cursorRow(page)).toHaveAttribute("id", second ?? "");
  await page.keyboard.press("x");
  await expect(cursorRow(page)).toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await expect(page.getByText("2 queues selected")).toBeVisible();
  await page.keyboard.press("e");
  await expect(page.getByRole("heading", { name: "Edit 2 queues" })).toBeVisible();
  await page.keyboard.press("Escape");
  await grid(page).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await expect(page.getByLabel(/^Limit of .*upload\/download$/)).toBeFocused();
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await expect(page.getByRole("textbox", { name: "Name", exact: true })).toBeFocused();
});

test("Ctrl-C copies the row under the cursor, with the numbers that are drawn", async ({ page }) => {
  await signIn(page, "/queues?q=customer&sort=-rate_download");
  await expect(page.getByTestId("rate-download").first()).toHaveAccessibleName(/\d/);
  await page.keyboard.press("j");
  await page.evaluate(() =>
    document.addEventListener(
      "copy",
      (event) => (document.documentElement.dataset["copied"] = event.clipboardData?.getData("text/plain")),
    ),
  );
  await page.keyboard.press("Control+c");
  await expect(page.getByText("Copied 1 row")).toBeVisible();
  const [titles, row, ...more] = ((await page.locator("html").getAttribute("data-copied")) ?? "")
    .split("\n")
    .map((line) => line.split("\t"));
  expect(titles?.slice(0, 5)).toEqual(["Name", "Target", "Limit ↑/↓", "Rate ↑", "Rate ↓"]);
  expect(row?.[0]).toMatch(/^customer-/);
  expect(row?.[4]).toMatch(/^\d/);
  expect(more).toEqual([]);
});

test("Enter presses the button that has the focus, also where Enter edits a limit", async ({ page }) => {
  await signIn(page, "/queues");
  await expect(page.getByRole("checkbox", { name: /^Select / }).nth(1)).toBeVisible();
  await page.keyboard.press("j");
  await page.getByRole("button", { name: "New queue" }).focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("textbox", { name: "Name", exact: true })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "New queue" })).toBeFocused();
});

test("pages are reached by two keys, and ? names them", async ({ page }) => {
  await signIn(page);
  for (const [second, title] of [
    ["h", "History"],
    ["i", "Interfaces"],
    ["d", "Diagnostics"],
    ["q", "Queues"],
  ] as const) {
    await page.keyboard.press("g");
    await page.keyboard.press(second);
    await expect(page.getByRole("heading", { level: 1, name: title })).toBeVisible();
  }
  await expect(page.getByRole("grid", { name: "Queues" })).toBeVisible();
  await page.keyboard.press("?");
  for (const words of [
    "Next row",
    "Select the row",
    "Edit the limit in place",
    "New queue",
    "Search",
    "Go to Queues",
  ])
    await expect(page.getByRole("dialog")).toContainText(words);
});

test("at 200 % zoom everything is reached without scrolling sideways", async ({ browser }) => {
  const context = await browser.newContext({ viewport: { width: 720, height: 450 }, deviceScaleFactor: 2 });
  const page = await context.newPage();
  await signIn(page, "/queues?edit=new");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("zoomed");
  await expect(page.getByRole("button", { name: "Stage the queue" })).toBeInViewport();
  await page.getByRole("button", { name: "Close" }).first().click();
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(over).toBeLessThanOrEqual(0);
  await expect(page.getByRole("row").nth(1)).toBeInViewport();
  await context.close();
});

test("nothing moves where less motion is asked for", async ({ page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await signIn(page);
  for (const path of ["/", "/queues", "/queues?edit=new", "/history"]) {
    await page.goto(path);
    await expect(page.locator("h1").first()).toBeVisible();
    const moving = await page.evaluate(
      () =>
        document
          .getAnimations()
          .filter((animation) => Number(animation.effect?.getComputedTiming().activeDuration ?? 0) > 1)
          .length,
    );
    expect(moving, path).toBe(0);
  }
});

test("columns are chosen, and the choice is in the address", async ({ page }) => {
  await signIn(page, "/queues");
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Priority" }).check();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("columnheader", { name: "Priority" })).toBeVisible();
  expect(new URL(page.url()).searchParams.get("cols")).toContain("priority");
  await page.reload();
  await expect(page.getByRole("columnheader", { name: "Priority" })).toBeVisible();
});

test("a router that falls silent is noticed, its numbers are greyed, and they come back", async ({
  page,
}) => {
  await page.addInitScript(() => {
    const Real = window.EventSource;
    window.EventSource = class extends Real {
      override addEventListener(name: string, take: unknown) {
        super.addEventListener(name, (event: Event) => {
          if (document.documentElement.dataset["muted"] === undefined)
            (take as (event: Event) => void)(event);
        });
      }
    };
  });
  await signIn(page, "/queues?sort=-rate_download");
  await expect(page.getByTestId("rate-download").first()).toHaveAccessibleName(/\d/);
  await page.evaluate(() => (document.documentElement.dataset["muted"] = "yes"));
  await expect(page.getByText(/No live data since .*, reconnecting/)).toBeVisible();
  await expect(page.getByRole("main")).toHaveAttribute("data-stale", "true");
  await expect(page.getByRole("button", { name: "Router state: No answer" })).toBeVisible();
  await page.evaluate(() => delete document.documentElement.dataset["muted"]);
  await expect(page.getByText(/No live data since/)).toBeHidden();
});
