// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { expect, plainQueue, settled, signIn, test } from "./router";

/** Changes an object's stored bytes, as a disk does that lies, and starts the API again. */
function damage(id: string): void {
  const script = `
import os, signal, sqlite3, sys
connection = sqlite3.connect(os.environ["WEIR_DATABASE"], isolation_level=None)
changed = "UPDATE object_version SET body = replace(body, '1', '7') WHERE id = ?"
assert connection.execute(changed, (sys.argv[1],)).rowcount == 1
connection.close()
os.kill(int(os.environ["WEIR_API_PID"]), signal.SIGKILL)
`;
  execFileSync("python3", ["-c", script, id]);
}

test("a damaged queue is named where it is missing, and restored from what runs", async ({ page }) => {
  await signIn(page);
  const queue = await plainQueue(page);
  const limit = async () => {
    const answer = await page.request.get(`/api/v1/queues/${queue.id}`);
    return answer.ok() ? ((await answer.json()) as { max_limit_bps: object }).max_limit_bps : answer.status();
  };
  const before = await limit();
  damage(queue.id);
  const line = page.getByRole("alert").filter({ hasText: "Damaged in the database: 1 queue." });
  await expect(async () => {
    await page.goto("/queues?sort=name");
    await expect(line).toBeVisible({ timeout: 8_000 });
  }).toPass({ timeout: 60_000 });
  await settled(page);
  await expect(line).toContainText(`This list lacks ${queue.id}`);
  await expect(page.getByRole("link", { name: queue.name })).toHaveCount(0);
  expect(await limit()).toBe(503);

  await line.getByRole("button", { name: "Look at the damage" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("list", { name: "Damaged" })).toContainText(`Queue ${queue.id} is damaged`);
  await expect(dialog).toContainText("Restore writes 1 object back, as a new revision");
  await expect(dialog).toContainText("no traffic is affected");
  await dialog.getByRole("button", { name: "Restore 1 object" }).click();
  await expect(dialog).toBeHidden();
  expect(await limit()).toEqual(before);
  await page.reload();
  await settled(page);
  await expect(page.getByRole("link", { name: queue.name })).toBeVisible();
  await expect(line).toHaveCount(0);
});
