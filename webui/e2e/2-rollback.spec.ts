// SPDX-License-Identifier: Apache-2.0
import {
  commitPending,
  confirmBar,
  expect,
  openRow,
  OWN_PASSWORD,
  pendingBar,
  plainQueue,
  signIn,
  test,
} from "./router";

test("a change that nobody confirms is rolled back, and the page says so", async ({ page }) => {
  await signIn(page);
  const row = await openRow(page, (await plainQueue(page)).name);
  const before = await row.getByTitle("Enter or double-click to edit").innerText();
  await page.getByRole("grid", { name: "Queues" }).focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  const cell = page.getByLabel(/^Limit of .*upload\/download$/);
  await cell.fill("700k/900k");
  await cell.press("Enter");
  await commitPending(page, "too low on purpose", "within 20 seconds");
  await expect(confirmBar(page)).toContainText("rolls back by itself");
  await expect(row).toContainText("700k900k");
  await expect(confirmBar(page)).toBeHidden({ timeout: 40_000 });
  await expect(page.getByText(/was not kept in time/)).toBeVisible();
  await expect(row.getByTitle("Enter or double-click to edit")).toHaveText(before, { useInnerText: true });
  await page.goto("/history");
  await expect(page.getByRole("row", { name: /rollback timer/ }).first()).toBeVisible();
});

test("what was typed survives a reload and a lost session", async ({ page, context }) => {
  await signIn(page, "/queues?edit=new");
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("half typed");
  await page.reload();
  await expect(page.getByRole("textbox", { name: "Name", exact: true })).toHaveValue("half typed");
  await context.clearCookies();
  // The page notices by itself, by the next thing it asks for.
  await page.getByRole("textbox", { name: /^Target/ }).fill("10.250.0.1");
  await expect(page.getByText("Your session has ended")).toBeVisible();
  await page.getByRole("dialog").getByRole("textbox", { name: "Password" }).fill(OWN_PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("textbox", { name: "Name", exact: true })).toHaveValue("half typed");
  await page.getByRole("button", { name: "Stage the queue" }).click();
  await expect(pendingBar(page)).toContainText("1 change: 1 queue");
  await pendingBar(page).getByRole("button", { name: "Discard" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
  await expect(pendingBar(page)).toBeHidden();
});

test("many queues are edited as one pending change", async ({ page }) => {
  await signIn(page, "/queues?sort=name");
  await page
    .getByRole("checkbox", { name: /^Select / })
    .nth(1)
    .check();
  await page
    .getByRole("checkbox", { name: /^Select / })
    .nth(2)
    .check();
  await page.getByRole("button", { name: "Edit all" }).click();
  await page.getByLabel("Limits times").fill("x1.2");
  await page.getByRole("button", { name: "Stage for all" }).click();
  await expect(pendingBar(page)).toContainText("2 changes: 2 queues");
  await pendingBar(page).getByRole("button", { name: "Diff" }).click();
  await expect(page.getByRole("dialog")).toContainText("In the kernel");
  await page.keyboard.press("Escape");
  await pendingBar(page).getByRole("button", { name: "Discard" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
});
