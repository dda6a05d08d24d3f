// SPDX-License-Identifier: Apache-2.0
import { expect, openRow, pendingBar, signIn, test } from "./router";

const LONG = "The interface wan0 is shaped by policing because this kernel has no fq, and what is above a limit is dropped instead of delayed.";

for (const width of [1440, 390]) {
  test(`what the lamp says stays on the screen at ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 844 });
    await page.route("**/api/v1/system", async (route) => {
      const answer = await route.fetch();
      const system = (await answer.json()) as { checks: object[] };
      await route.fulfill({ json: { ...system, checks: [...system.checks, { id: "shaping", state: "warning", message: LONG }] } });
    });
    await signIn(page);
    await page.getByRole("button", { name: /^Router state/ }).click();
    const words = page.getByRole("dialog", { name: "Router state" }).getByText(LONG);
    await expect(words).toBeVisible();
    const box = await words.boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
  });
}

test("a staged limit shows old and new, and leaves the queue's name readable", async ({ page }) => {
  await signIn(page);
  const row = await openRow(page, "customer-07");
  await row.click();
  await page.keyboard.press("Enter");
  const field = page.getByLabel(/^Limit of .*upload\/download$/);
  await field.fill("oops");
  await expect(page.getByRole("alert")).toContainText('"oops" is not a rate');
  await field.fill("7M/9M");
  await page.keyboard.press("Tab");
  await expect(pendingBar(page)).toContainText("1 change: 1 queue");
  await expect(row).toContainText("→9M");
  const link = row.getByRole("link", { name: /customer-07/ });
  expect(await link.evaluate((element) => element.scrollWidth - element.clientWidth)).toBeLessThanOrEqual(0);
  await pendingBar(page).getByRole("button", { name: "Discard" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click();
  await expect(pendingBar(page)).toBeHidden();
});
