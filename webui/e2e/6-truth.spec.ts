// SPDX-License-Identifier: Apache-2.0
import { expect, openRow, pendingBar, signIn, test } from "./router";

const LONG =
  "The interface wan0 is shaped by policing because this kernel has no fq, and what is above a limit is dropped instead of delayed.";

for (const width of [1440, 390]) {
  test(`what the lamp says stays on the screen at ${width} px`, async ({ page }) => {
    await page.setViewportSize({ width, height: 844 });
    await page.route("**/api/v1/system", async (route) => {
      const answer = await route.fetch();
      const system = (await answer.json()) as { checks: object[] };
      await route.fulfill({
        json: { ...system, checks: [...system.checks, { id: "shaping", state: "warning", message: LONG }] },
      });
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

test("a drag in a graph zooms, in the page's address; back and Escape show all of the time", async ({
  page,
}) => {
  await signIn(page);
  await (await openRow(page, "customer-07")).getByRole("link", { name: /customer-07/ }).click();
  const plot = page.getByRole("img", { name: /^Upload and download rate/ }).locator(".u-over");
  await expect(plot).toBeVisible();
  const drag = async () => {
    const box = (await plot.boundingBox())!;
    await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.75, box.y + 60, { steps: 5 });
    await page.mouse.up();
    await expect(page).toHaveURL(/zoom=\d+-\d+/);
  };
  await drag();
  const zoom = /zoom=(\d+)-(\d+)/.exec(page.url())!;
  const seconds = Number(zoom[2]) - Number(zoom[1]);
  expect(seconds).toBeGreaterThanOrEqual(29);
  expect(seconds).toBeLessThanOrEqual(33);
  await page.reload();
  await expect(page.getByRole("button", { name: "Reset zoom" })).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("button", { name: "Reset zoom" })).toBeHidden();
  await drag();
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/zoom=/);
});
