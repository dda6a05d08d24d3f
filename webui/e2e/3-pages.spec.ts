// SPDX-License-Identifier: Apache-2.0
import type { Page } from "@playwright/test";
import { seriousFindings } from "./axe";
import {
  EVERY_PAGE,
  expect,
  firstQueue,
  KIND_PAGES,
  openRow,
  pendingBar,
  plainQueue,
  signIn,
  test,
  visit,
} from "./router";

/** A list is looked at beside the open form of its kind. */
const BESIDE = KIND_PAGES.filter((path) => !KIND_PAGES.includes(`${path}?edit=new`));

async function findingsOf(page: Page, paths: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    await visit(page, path);
    found.push(...(await seriousFindings(page)).map((finding) => `${path} ${finding}`));
  }
  return found;
}

test("no page has a serious accessibility finding, light or dark", async ({ page }) => {
  test.setTimeout(280_000);
  await signIn(page);
  const own = EVERY_PAGE.filter((path) => !KIND_PAGES.includes(path));
  expect(await findingsOf(page, [...own, await firstQueue(page)])).toEqual([]);
});

test("no list and no form of a kind has a serious accessibility finding, light or dark", async ({ page }) => {
  test.setTimeout(280_000);
  await signIn(page);
  expect(await findingsOf(page, BESIDE)).toEqual([]);
});

test("no dialog has a serious accessibility finding, light or dark", async ({ page }) => {
  await signIn(page, "/", { tour: true });
  const found: string[] = [];
  const look = async (what: string) => {
    found.push(...(await seriousFindings(page)).map((finding) => `${what} ${finding}`));
  };
  await expect(page.getByRole("region", { name: "Tour" })).toBeVisible();
  await look("tour");
  await page.getByRole("button", { name: "Skip the tour" }).click();
  await expect(page.getByRole("region", { name: "Tour" })).toBeHidden();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("Go to Queues");
  await look("keys");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search everything" }).fill("customer");
  await expect(page.getByRole("option").first()).toBeVisible();
  await look("palette");
  await page.keyboard.press("Escape");
  const { name } = await plainQueue(page);
  const row = await openRow(page, name);
  await row.click({ button: "right" });
  await expect(page.getByRole("menu")).toBeVisible();
  await look("menu of a row");
  await page.getByRole("menuitem", { name: /^Disable/ }).click();
  await expect(pendingBar(page)).toBeVisible();
  for (const dialog of ["Diff", "Commit with timer", "Discard"]) {
    await pendingBar(page).getByRole("button", { name: dialog, exact: true }).click();
    await expect(page.getByRole("dialog")).toBeVisible();
    await look(dialog);
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog")).toBeHidden();
  }
  expect(found).toEqual([]);
});

test("the keyboard reaches pages, search and help", async ({ page }) => {
  await signIn(page);
  await page.keyboard.press("g");
  await page.keyboard.press("q");
  await expect(page).toHaveURL(/\/queues/);
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog")).toContainText("Go to Queues");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: "Search everything" })).toBeFocused();
  await page.keyboard.type("histo");
  const found = page.getByRole("listbox", { name: "Found" });
  await expect(found.getByRole("option", { selected: true })).toContainText("History");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/history/);
});
