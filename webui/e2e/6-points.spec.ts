// SPDX-License-Identifier: Apache-2.0
/** What pages are for, beside the lists and forms that other stories go through. */
import {
  apiToken,
  expect,
  openRow,
  pendingBar,
  settled,
  signIn,
  test,
  tourIsOver,
  typePassword,
} from "./router";

const COLLEAGUE = "a weir has two banks";
const headers = { Authorization: `Bearer ${apiToken()}` };

test("the tour has five hints, and once skipped it does not come back", async ({ page }) => {
  await signIn(page, "/", { tour: true });
  const tour = page.getByRole("region", { name: "Tour" });
  for (let step = 1; step < 5; step++) {
    await expect(tour).toContainText(`Tour, ${step} of 5`);
    await tour.getByRole("button", { name: "Next hint" }).click();
  }
  await expect(tour.getByRole("button", { name: "End the tour" })).toBeVisible();
  await page.reload();
  await expect(tour).toContainText("Tour, 5 of 5");
  await tour.getByRole("button", { name: "End the tour" }).click();
  await page.reload();
  await settled(page);
  await expect(tour).toBeHidden();
});

test("a list is saved as it is shown, and found again by Ctrl-K", async ({ page }) => {
  await signIn(page, "/queues?q=customer&sort=-rate_download");
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("textbox", { name: "Name of this view" }).fill("the busiest");
  await page.keyboard.press("Enter");
  await page.goto("/history");
  await settled(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Search everything" }).fill("the busiest");
  await page.getByRole("option", { name: /the busiest/ }).click();
  await expect(page).toHaveURL(/q=customer/);
  await expect(page).toHaveURL(/sort=-rate_download/);
});

test("who else has staged a change of a queue is told at its form", async ({ page, browser }) => {
  const made = await page.request.post("/api/v1/users", {
    headers,
    data: { username: "colleague", password: COLLEAGUE, scope: "write" },
  });
  expect(made.status()).toBe(201);
  await signIn(page);
  await (await openRow(page, "customer-07")).getByRole("link", { name: /customer-07/ }).click();
  await expect(page).toHaveURL(/\/queues\/.+/);
  const form = `${new URL(page.url()).pathname}?edit=true`;

  const desk = await browser.newContext();
  const other = await desk.newPage();
  await other.addInitScript(tourIsOver);
  await other.goto(new URL(form, page.url()).href);
  await typePassword(other, COLLEAGUE, "colleague");
  await other.getByRole("textbox", { name: /^Comment/ }).fill("a faster plan");
  await other.getByRole("button", { name: "Stage the change" }).click();
  await expect(pendingBar(other)).toContainText("1 change: 1 queue");

  await page.goto(form);
  await expect(page.getByText(/colleague staged a change of it/)).toBeVisible();
  await desk.close();
  expect((await page.request.delete("/api/v1/users/colleague", { headers })).ok()).toBe(true);
});

test("ports, hosts and the traffic of now are seen as they are", async ({ page }) => {
  await signIn(page);
  const ports = page.getByRole("list", { name: "Ports" });
  await expect(ports.getByRole("link", { name: /lan0/ })).toContainText("LAN");
  await expect(
    ports.getByRole("img", { name: "Traffic of lan0 in the last two minutes", includeHidden: true }),
  ).toBeVisible();
  await ports.getByRole("link", { name: /wan0/ }).click();
  await expect(page).toHaveURL(/\/interfaces/);
  await page.goto("/hosts");
  const answer = await page.request.get("/api/v1/hosts?limit=1", { headers });
  const { items } = (await answer.json()) as { items: { addresses: (string | { address: string })[] }[] };
  expect(items.length).toBeGreaterThan(0);
  await expect(page.getByRole("table", { name: "Hosts" }).getByRole("row").nth(1)).toBeVisible();
  await page.goto("/traffic");
  await expect(page.getByRole("main")).toContainText(/customer-\d+/, { timeout: 30_000 });
  await page.getByText("Upload", { exact: true }).first().click();
  await expect(page).toHaveURL(/direction=upload/);
});

test("a column is moved by dragging its heading, and stays there", async ({ page }) => {
  await signIn(page, "/queues");
  const heading = (name: RegExp) => page.getByRole("columnheader", { name });
  const left = async (name: RegExp) => (await heading(name).boundingBox())?.x ?? 0;
  await expect(heading(/Rate ↓/)).toBeVisible();
  expect(await left(/Rate ↑/)).toBeLessThan(await left(/Rate ↓/));
  await heading(/Rate ↓/).dragTo(heading(/Rate ↑/), { targetPosition: { x: 4, y: 8 } });
  await expect.poll(async () => (await left(/Rate ↓/)) < (await left(/Rate ↑/))).toBe(true);
  await page.reload();
  await expect(heading(/Rate ↓/)).toBeVisible();
  expect(await left(/Rate ↓/)).toBeLessThan(await left(/Rate ↑/));
});
