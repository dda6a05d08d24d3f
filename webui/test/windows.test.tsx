// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { queueInput } from "@/api/writes";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const queue = () => [...router.state.queues.values()][1]!;
const limit = (mbit: number) => ({ upload: mbit * 1e6, download: mbit * 1e6 });

/** As another window of this account does. */
const otherWindow = () =>
  router.state.staged.set(`queue/${queue().id}`, {
    kind: "queue",
    id: queue().id,
    new: { ...queueInput(queue()), max_limit_bps: limit(7) },
    etag: "s77",
  });
const stagedLimit = () => router.state.staged.get(`queue/${queue().id}`)?.new?.["max_limit_bps"];

/** Types a limit, stages it after another window staged its own, and returns the question. */
async function overtaken() {
  const user = userEvent.setup();
  renderAt(`/queues/${queue().id}?edit=true`);
  for (const direction of ["upload", "download"]) {
    const field = await screen.findByRole("textbox", { name: `Limit, ${direction}` });
    await user.clear(field);
    await user.type(field, "9M");
  }
  otherWindow();
  await user.click(screen.getByRole("button", { name: "Stage the change" }));
  const dialog = await screen.findByRole("dialog", { name: /was changed in another window/ });
  return { user, dialog };
}

describe("two windows that stage a change of one queue", () => {
  it("tell the second, with both values and when the first staged its own", async () => {
    const { user, dialog } = await overtaken();
    expect(dialog.textContent).toMatch(/admin in another window staged another change of it 2\d s ago/);
    const row = within(dialog).getByRole("row", { name: /limit/ });
    expect(row.textContent).toContain("upload 9M");
    expect(row.textContent).toContain("upload 7M");
    expect(stagedLimit()).toEqual(limit(7));
    await user.click(within(dialog).getByRole("button", { name: "Keep mine" }));
    await waitFor(() => expect(stagedLimit()).toEqual(limit(9)));
  });

  it("keep the first's when the second says so, and forget what it typed", async () => {
    const { user, dialog } = await overtaken();
    await user.click(within(dialog).getByRole("button", { name: "Keep theirs" }));
    await waitFor(() => expect(screen.queryByRole("button", { name: "Stage the change" })).toBeNull());
    expect(stagedLimit()).toEqual(limit(7));
    expect(Object.keys(sessionStorage).filter((key) => key.startsWith("weir.draft"))).toEqual([]);
  });
});
