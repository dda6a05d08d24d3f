// SPDX-License-Identifier: Apache-2.0
import type { Page } from "@playwright/test";
import { expect, KIND_PAGES, openRow, pendingBar, plainQueue, settled, signIn, test } from "./router";

const LISTS = [
  "/interfaces",
  "/routes",
  "/queue-types",
  "/history",
  "/users",
  "/users?tab=tokens",
  "/tuning",
  "/diagnostics",
  "/queues?sort=name",
];

for (const width of [1280, 1440]) {
  test(`no list is cut off at ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 800 });
    await signIn(page);
    const cut: string[] = [];
    for (const path of LISTS) {
      await page.goto(path);
      await settled(page);
      const over = await page
        .locator("main [role=region], main [role=grid]")
        .evaluateAll((lists) => Math.max(0, ...lists.map((list) => list.scrollWidth - list.clientWidth)));
      if (over > 0) cut.push(`${path}: ${over} px`);
    }
    expect(cut).toEqual([]);
  });
}

test("no list of a kind is cut off at 1440 px", async ({ page }) => {
  await signIn(page);
  const cut: string[] = [];
  for (const path of KIND_PAGES.filter((address) => !address.includes("?"))) {
    await page.goto(path);
    await settled(page);
    const over = await page
      .locator("main [role=grid]")
      .evaluateAll((lists) => Math.max(0, ...lists.map((list) => list.scrollWidth - list.clientWidth)));
    if (over > 0) cut.push(`${path}: ${over} px`);
  }
  expect(cut).toEqual([]);
});

/** How far right of its heading the first text of the first column stands, in each list of the page. */
const offsets = (page: Page): Promise<number[]> =>
  page.locator("main table, main [role=grid]").evaluateAll((lists) => {
    const left = (cell: Element | null | undefined): number | null => {
      const walker = cell ? document.createTreeWalker(cell, NodeFilter.SHOW_TEXT) : null;
      for (let node = walker?.nextNode(); node; node = walker?.nextNode()) {
        const range = document.createRange();
        range.selectNodeContents(node);
        const box = range.getBoundingClientRect();
        if (box.width > 1) return box.left;
      }
      return null;
    };
    return lists.flatMap((list) => {
      const heading = [...list.querySelectorAll("thead th, [role=columnheader]")].find(
        (cell) => left(cell) !== null,
      );
      const at = heading ? [...(heading.parentElement?.children ?? [])].indexOf(heading) : -1;
      const row = list.querySelector("tbody tr") ?? list.querySelectorAll("[role=row]")[1];
      const [above, below] = [left(heading), left(row?.children[at])];
      const hasIcon = row?.children[at]?.querySelector("svg");
      return above === null ||
        below === null ||
        hasIcon ||
        getComputedStyle(heading as Element).textAlign === "right"
        ? []
        : [Math.round(below - above)];
    });
  });

test("first columns stand below their headings", async ({ page }) => {
  await signIn(page);
  const off: string[] = [];
  let seen = 0;
  for (const path of LISTS) {
    await page.goto(path);
    await settled(page);
    if (path.startsWith("/queues")) await expect(page.getByRole("row").nth(1)).toContainText("tower");
    const found = await offsets(page);
    seen += found.length;
    off.push(...found.filter((by) => Math.abs(by) > 1).map((by) => `${path}: ${by} px`));
  }
  expect(off).toEqual([]);
  expect(seen).toBeGreaterThan(6);
});

test("at 200 % zoom there are rows to work with", async ({ page }) => {
  await page.setViewportSize({ width: 720, height: 450 });
  await signIn(page, "/queues?sort=name");
  await expect(page.getByRole("row").nth(1)).toContainText("tower");
  const whole = await page.locator("[role=grid] [role=row]").evaluateAll((rows) => {
    const frame = document.querySelector("[role=grid]")!.getBoundingClientRect();
    return rows.filter((row) => {
      const box = row.getBoundingClientRect();
      return (
        box.height > 1 && box.top >= frame.top && box.bottom <= Math.min(frame.bottom, window.innerHeight)
      );
    }).length;
  });
  expect(whole).toBeGreaterThanOrEqual(8);
  const clipped = await page
    .locator("[role=grid] [role=row]")
    .evaluateAll(
      (rows) =>
        rows.filter((row) => row.querySelector("[role=gridcell]") && row.scrollWidth > row.clientWidth)
          .length,
    );
  expect(clipped).toBe(0);
});

test("a page is printed in black on white, as a whole and without what is pressed", async ({ page }) => {
  await signIn(page);
  await page.emulateMedia({ colorScheme: "dark" });
  for (const path of ["/queues?sort=name", "/diagnostics", "/interfaces"]) {
    await page.emulateMedia({ media: "screen" });
    await page.goto(path);
    await settled(page);
    if (path.startsWith("/queues"))
      await expect(page.getByTestId("rate-download").first()).toHaveAccessibleName(/\d/);
    await page.emulateMedia({ media: "print" });
    for (const part of [
      page.getByRole("navigation").first(),
      page.getByRole("banner"),
      page.getByRole("button", { name: /^New/ }).first(),
    ])
      await expect(part).toBeHidden();
    const seen = await page.evaluate(() => ({
      background: getComputedStyle(document.body).backgroundColor,
      text: getComputedStyle(document.body).color,
      clipped: [...document.querySelectorAll("main, main > div, [role=grid]")].filter(
        (element) =>
          element.scrollHeight > element.clientHeight + 1 &&
          getComputedStyle(element).overflowY !== "visible",
      ).length,
    }));
    expect(seen.background, path).toBe("rgb(255, 255, 255)");
    expect(seen.text, path).toBe("rgb(26, 31, 38)");
    expect(seen.clipped, path).toBe(0);
  }
  await page.goto("/queues?sort=name");
  await expect(page.getByRole("row").last()).toContainText("customer-24");
  const rate = await page
    .getByTestId("rate-download")
    .first()
    .evaluate((cell) => getComputedStyle(cell, "::after").content);
  expect(rate).not.toBe("none");
});

test("a staged change is seen on a phone as in the table", async ({ page }) => {
  await signIn(page);
  const { name } = await plainQueue(page);
  await openRow(page, name);
  await page.getByRole("grid", { name: "Queues" }).focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  const cell = page.getByLabel(/^Limit of .*upload\/download$/);
  await cell.fill("700k/900k");
  await cell.press("Enter");
  await expect(pendingBar(page)).toContainText("1 change: 1 queue");
  for (const width of [1440, 390]) {
    await page.setViewportSize({ width, height: 844 });
    const row = page.getByRole("row", { name: new RegExp(name) });
    await expect(row).toContainText("→700k");
    await expect(row).toContainText("→900k");
    const edge = await row.evaluate((found) =>
      [...found.querySelectorAll("span")].some(
        (part) =>
          part.textContent === "" &&
          part.getBoundingClientRect().left === found.getBoundingClientRect().left &&
          getComputedStyle(part).backgroundColor !== "rgba(0, 0, 0, 0)",
      ),
    );
    expect(edge, `${width} px`).toBe(true);
  }
  await pendingBar(page).getByRole("button", { name: "Discard" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
  await expect(pendingBar(page)).toBeHidden();
});

test("the fields of a form are of one height", async ({ page }) => {
  await signIn(page, "/firewall");
  const height = async (label: RegExp): Promise<number> =>
    (await page.getByRole("textbox", { name: label }).boundingBox())?.height ?? 0;
  await page.getByRole("button", { name: "Add to Open TCP ports" }).click();
  await expect(page.getByRole("textbox", { name: /^Open TCP ports 1/ })).toBeVisible();
  expect(await height(/^Connections per address/)).toBeGreaterThan(0);
  expect(await height(/^Connections per address/)).toBe(await height(/^Open TCP ports 1/));
});
