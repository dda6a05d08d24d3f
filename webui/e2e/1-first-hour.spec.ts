// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import path from "node:path";
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
  typePassword,
} from "./router";

const FIXTURE =
  process.env.WEIR_FIXTURE ??
  path.resolve(import.meta.dirname, "../../tests/formats/fixtures/routeros/facts_fixture/export.rsc");

test.describe.configure({ mode: "serial" });

test("a wrong password is refused in words, and the page asked for is shown after signing in", async ({
  page,
}) => {
  await page.goto("/queues");
  await page.getByLabel("User name").fill("nobody");
  await page.getByRole("textbox", { name: "Password" }).fill("not the password");
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page.getByRole("alert")).toBeVisible();
  await signIn(page, "/queues?q=nothing-like-this");
  await expect(page.getByText("No queue matches")).toBeVisible();
  expect(new URL(page.url()).searchParams.get("q")).toContain("nothing-like-this");
});

test("a RouterOS export is reviewed line by line before it is committed", async ({ page }) => {
  await signIn(page, "/import");
  await page
    .getByLabel("Files to import")
    .setInputFiles({ name: "export.rsc", mimeType: "text/plain", buffer: readFileSync(FIXTURE) });
  await page.getByRole("button", { name: "Read and report" }).click();
  const fates = page.getByRole("group", { name: "Filter by fate" });
  await fates.getByRole("button", { name: /warnings?$/ }).click();
  await expect(page.getByRole("grid", { name: "Statements of the file" })).toBeVisible();
  await page.getByRole("button", { name: "Commit this import" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Roll back by itself").selectOption({ label: "within 1 minute" });
  await dialog.getByRole("button", { name: "Commit with timer" }).click();
  await expect(confirmBar(page)).toBeVisible();
  await confirmBar(page).getByRole("button", { name: "Keep" }).click();
  await expect(confirmBar(page)).toBeHidden();
  await page.goto("/queues?q=carl");
  await expect(page.getByRole("row", { name: /02-carl/ })).toBeVisible();
});

test("a rate bar moves with the traffic", async ({ page }) => {
  await signIn(page, "/queues?sort=-rate_download");
  const rates = () =>
    page.getByTestId("rate-download").evaluateAll((cells) => cells.map((cell) => cell.ariaLabel ?? ""));
  const picture = async () =>
    (await page.getByTestId("rate-download").first().screenshot()).toString("base64");
  await expect
    .poll(async () => (await rates()).some((rate) => /^[1-9]/.test(rate)), { timeout: 30_000 })
    .toBe(true);
  const [before, seen] = [(await rates()).join(), await picture()];
  await expect.poll(async () => (await rates()).join(), { timeout: 15_000 }).not.toBe(before);
  await expect.poll(picture, { timeout: 15_000 }).not.toBe(seen);
});

test("a limit is changed in its cell, committed with a timer, and kept", async ({ page }) => {
  await signIn(page);
  const row = await openRow(page, (await plainQueue(page)).name);
  await page.getByRole("grid", { name: "Queues" }).focus();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  const cell = page.getByLabel(/^Limit of .*upload\/download$/);
  await cell.fill("21M/34M");
  await cell.press("Enter");
  await expect(pendingBar(page)).toContainText("1 change: 1 queue");
  await commitPending(page, "raised by hand", "within 1 minute");
  await expect(confirmBar(page)).toContainText("raised by hand");
  await confirmBar(page).getByRole("button", { name: "Keep" }).click();
  await expect(confirmBar(page)).toBeHidden();
  await page.reload();
  await expect(row).toContainText("21M34M");
});

test("a security key is added, asked for after the password, and removed", async ({ page, baseURL }) => {
  const here = new URL("/account", baseURL);
  here.hostname = "localhost"; // a browser uses no key by an address
  await signIn(page, here.href);
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "usb", automaticPresenceSimulation: true },
  });
  const section = page.locator("section", { has: page.getByLabel("Name of the key") });
  await section.getByLabel("Name of the key").fill("blue");
  await section.getByLabel("Your password").fill(OWN_PASSWORD);
  await page.keyboard.press("Enter");
  await expect(page.getByRole("list", { name: "Recovery codes" }).getByRole("listitem")).toHaveCount(8);
  await page.context().clearCookies();
  await page.goto(here.href);
  await typePassword(page, OWN_PASSWORD);
  await page.getByRole("button", { name: "Remove blue" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Your password").fill(OWN_PASSWORD);
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("button", { name: "Remove blue" })).toBeHidden();
});
