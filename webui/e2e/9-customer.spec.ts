// SPDX-License-Identifier: Apache-2.0
import { apiToken, expect, plainQueue, signIn, test } from "./router";

interface Limits {
  upload: number;
  download: number;
}

test("a limit is raised while the customer is on the phone, and goes back by itself", async ({ page }) => {
  test.setTimeout(120_000);
  await signIn(page);
  const queue = await plainQueue(page);
  const headers = { Authorization: `Bearer ${apiToken()}` };
  const limits = async () => {
    const answer = await page.request.get(`/api/v1/queues/${queue.id}`, { headers });
    return ((await answer.json()) as { max_limit_bps: Limits }).max_limit_bps;
  };
  const before = await limits();
  const doubled = { upload: before.upload * 2, download: before.download * 2 };
  await page.goto(`/queues/${queue.id}`);
  await expect(page.getByTestId("used")).toHaveText(/^↑ \S+ of \S+, ↓ \S+ of \S+[;.]/);
  const line = page.getByRole("list", { name: "From the device to the internet" });
  await expect(line.getByRole("listitem").first()).toContainText(
    /^Device(Culprit|Also in trouble|Ruled out|Not known)/,
  );

  await page.getByRole("button", { name: "Raise for 1 h" }).first().click();
  await page.keyboard.press("Enter");
  const note = page.getByText(/^Raised by /);
  await expect(note).toContainText("until");
  expect(await limits()).toEqual(doubled);
  await page.setViewportSize({ width: 320, height: 800 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.getByRole("button", { name: "Lower it now" }).click();
  await expect(note).toBeHidden();
  expect(await limits()).toEqual(before);

  // The shortest one there is, seen by who comes to the page later.
  const asked = { headers, data: { max_limit_bps: doubled, for_s: 10 } };
  expect((await page.request.post(`/api/v1/queues/${queue.id}/raise`, asked)).status()).toBe(200);
  await page.reload();
  await expect(note).toBeVisible();
  await expect.poll(limits, { timeout: 60_000 }).toEqual(before);
  await expect(note).toBeHidden({ timeout: 20_000 });
  await expect(page.getByText("limit of", { exact: false }).first()).toContainText("no longer raised");
});

test("the time service's page has its sources as they answer", async ({ page }) => {
  test.setTimeout(120_000);
  await signIn(page, "/ntp");
  const state = page.getByRole("region", { name: "State" });
  await expect(state).toBeVisible();
  await expect(state.getByRole("columnheader", { name: "Name" })).toBeVisible({ timeout: 60_000 });
  await expect(state.getByRole("row")).not.toHaveCount(1);
  await expect(state.getByText(/^at \d\d:\d\d:\d\d$/)).toBeVisible();
});

test("who has several routers open sees which one asks for the password", async ({ page }) => {
  const headers = { Authorization: `Bearer ${apiToken()}` };
  const system = await page.request.get("/api/v1/system", { headers });
  const { hostname } = (await system.json()) as { hostname: string };
  await page.goto("/sign-in");
  await expect(page.getByRole("heading", { level: 1 })).toContainText(hostname);
  await expect(page).toHaveTitle(`Sign in · ${hostname}`);
});
