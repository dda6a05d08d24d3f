// SPDX-License-Identifier: Apache-2.0
import { commitPending, expect, pendingBar, signIn, test } from "./router";

test("routes are made, found, changed, disabled and deleted by the keyboard alone", async ({ page }) => {
  await signIn(page, "/routes");
  const grid = page.getByRole("grid", { name: "static routes" });
  await expect(page.getByRole("heading", { level: 1, name: "Routes" })).toBeVisible();

  // Two new routes: the first field has the focus, Ctrl-Enter stages.
  for (const destination of ["10.250.9.0/25", "10.250.9.128/25"]) {
    await page.locator("h1").focus();
    await page.keyboard.press("n");
    const form = page.getByRole("dialog", { name: "New route" });
    await expect(form.getByRole("textbox", { name: /^Destination/ })).toBeFocused();
    await page.keyboard.type(destination);
    // What is wrong is said in the summary, and its link leads to the field.
    await page.keyboard.press("Control+Enter");
    await expect(form.getByRole("alert").first()).toContainText("Gateway");
    await form.getByRole("switch", { name: "Drop packets" }).focus();
    await page.keyboard.press("Space");
    await expect(form.getByRole("textbox", { name: "Gateway" })).toHaveCount(0);
    await page.keyboard.press("Control+Enter");
    await expect(form).toBeHidden();
    await expect(grid).toContainText(destination);
  }
  await expect(pendingBar(page)).toContainText("2 static routes");
  await commitPending(page, "two networks are dropped");
  await expect(pendingBar(page)).toBeHidden();

  // Found by a search, both selected with Ctrl-A, and disabled as one pending change.
  await page.getByRole("searchbox", { name: "Search static routes" }).focus();
  await page.keyboard.type("10.250.9");
  await expect(grid.getByRole("row")).toHaveCount(3);
  await grid.focus();
  await page.keyboard.press("Control+a");
  await page.getByRole("button", { name: "Disable" }).focus();
  await page.keyboard.press("Enter");
  await expect(grid.getByText("change pending")).toHaveCount(2);

  // The first one is opened with Enter, and closed again with Escape: the focus comes back.
  await grid.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog", { name: "Route 10.250.9.0/25" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(grid).toBeFocused();

  // A range with Shift, deleted with Del; committed, they are gone.
  await page.keyboard.press("Home");
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Delete");
  await expect(grid.getByText("removal pending")).toHaveCount(2);
  await commitPending(page, "the networks are let through again");
  await expect(page.getByRole("heading", { name: /^No static route matches/ })).toBeVisible();
});
