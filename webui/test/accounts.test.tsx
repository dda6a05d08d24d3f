// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { queueInput } from "@/api/writes";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const limit = (mbit: number) => ({ upload: mbit * 1e6, download: mbit * 1e6 });
const ago = (seconds: number) => new Date(Date.now() - seconds * 1000).toISOString();

/** This account staged 9M of a queue; another committed 7M of it meanwhile. */
function overtaken() {
  const [, found] = [...router.state.queues.values()];
  const queue = { ...found!, max_limit_bps: limit(7) };
  router.state.queues.set(queue.id, queue);
  router.state.staged.set(`queue/${queue.id}`, {
    kind: "queue",
    id: queue.id,
    new: { ...queueInput(queue), max_limit_bps: limit(9) },
  });
  router.state.conflicts = [{ kind: "queue", id: queue.id, author: "eve", changed_at: ago(180) }];
  return queue;
}

describe("a conflict with another account", () => {
  it("shows both values, who committed the other and when, before the commit", async () => {
    const queue = overtaken();
    const user = userEvent.setup();
    renderAt("/about");
    await user.click(await screen.findByRole("button", { name: "Diff" }));
    const dialog = within(await screen.findByRole("dialog"));
    const table = within(await dialog.findByRole("table", { name: `Both versions of ${queue.name}` }));
    expect(table.getAllByRole("columnheader").map((head) => head.textContent)).toEqual([
      "Field",
      "Mine",
      "eve",
    ]);
    const row = table.getByRole("row", { name: /limit/ });
    expect(row.textContent).toContain("upload 9M");
    expect(row.textContent).toContain("upload 7M");
    expect(dialog.getByText(/eve changed it 3 min ago\./)).toBeTruthy();
    await user.click(dialog.getByRole("button", { name: "Keep mine" }));
    await waitFor(() => expect(screen.queryByRole("button", { name: "Keep mine" })).toBeNull());
    expect(router.state.staged.size).toBe(1);
  });

  it("is settled for the other by its name", async () => {
    overtaken();
    const user = userEvent.setup();
    renderAt("/about");
    await user.click(await screen.findByRole("button", { name: "Diff" }));
    await user.click(await screen.findByRole("button", { name: "Keep eve's" }));
    await waitFor(() => expect(router.state.staged.size).toBe(0));
  });

  it("with several accounts claims no name for all of them", async () => {
    const queue = overtaken();
    router.state.conflicts.push({ kind: "queue", id: "gone", author: null, changed_at: null });
    router.state.staged.set("queue/gone", { kind: "queue", id: "gone", new: queueInput(queue) });
    renderAt("/about");
    await userEvent.click(await screen.findByRole("button", { name: "Diff" }));
    expect(await screen.findByRole("button", { name: "Keep theirs" })).toBeTruthy();
    expect(screen.getByText(/Somebody (changed|removed) it\./)).toBeTruthy();
  });
});

describe("others at the same object", () => {
  const [queue] = [router.state.queues.values().next().value!];

  it.each([
    ["a queue", `/queues/${queue.id}?edit=true`, `queue/${queue.id}`],
    ["an interface", "/interfaces?edit=lan0", "interface/lan0"],
    ["the firewall", "/firewall", "firewall/firewall"],
  ])("are told in the form of %s", async (_name, at, key) => {
    router.state.others.set(key, [
      { author: "eve", staged_at: ago(180), action: "change" },
      { author: "otto", staged_at: null, action: "remove" },
    ]);
    renderAt(at);
    expect(
      await screen.findByText("eve staged a change of it 3 min ago; otto staged its removal."),
    ).toBeTruthy();
  });

  it("are not spoken of where there are none", async () => {
    renderAt(`/queues/${queue.id}?edit=true`);
    await screen.findByRole("button", { name: "Stage the change" });
    expect(screen.queryByText(/staged/)).toBeNull();
  });
});
