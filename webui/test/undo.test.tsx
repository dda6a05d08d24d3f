// SPDX-License-Identifier: Apache-2.0
import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { newestStep } from "@/api/undo";
import { queueInput, sayStaged, stageChanges } from "@/api/writes";
import { mockRouter, renderAt } from "./render";

const router = mockRouter(40);
const some = (count: number) => [...router.state.queues.values()].slice(0, count);
const disabling = (count: number) =>
  some(count).map((queue) => ({
    kind: "queue" as const,
    id: queue.id,
    new: { ...queueInput(queue), disabled: true },
  }));
const press = async (name: string) => userEvent.click(await screen.findByRole("button", { name }));

/** A page, with changes that were staged from it. */
async function staged(count: number) {
  renderAt("/about");
  await screen.findByRole("heading", { level: 1 });
  await act(() => stageChanges(disabling(count)));
  act(() => sayStaged("Disabled."));
}

describe("what was staged", () => {
  it("is undone from its toast", async () => {
    await staged(1);
    await press("Undo");
    await waitFor(() => expect(router.state.staged.size).toBe(0));
  });

  it("is not offered to who signs in next", async () => {
    await staged(1);
    await screen.findByRole("button", { name: "Undo" });
    await press("Account: admin");
    await userEvent.click(await screen.findByRole("menuitem", { name: "Sign out" }));
    await screen.findByLabelText(/User name/);
    expect(screen.queryByRole("button", { name: "Undo" })).toBeNull();
    expect(newestStep()).toBeUndefined();
  });

  it("of many queues is undone as one", async () => {
    await staged(30);
    expect(router.state.staged.size).toBe(30);
    await press("Undo");
    expect(await screen.findByText("Undone: 30 staged changes.")).toBeTruthy();
    expect(router.state.staged.size).toBe(0);
  });

  it("over other changes leaves those as they were", async () => {
    const [first] = some(1);
    const before = { ...queueInput(first!), comment: "before" };
    await stageChanges([{ kind: "queue", id: first!.id, new: before, base: null }]);
    await staged(30);
    await press("Undo");
    await waitFor(() => expect(router.state.staged.size).toBe(1));
    await waitFor(() =>
      expect(router.state.staged.get(`queue/${first!.id}`)?.new?.["comment"]).toBe("before"),
    );
  });

  it("and changed in another window since is left alone, and the toast says so", async () => {
    await staged(30);
    const [, second] = some(2);
    const key = `queue/${second!.id}`;
    router.state.staged.set(key, { ...router.state.staged.get(key)!, etag: "s-other" });
    await press("Undo");
    expect(await screen.findByText(/nothing was undone/)).toBeTruthy();
    expect(router.state.staged.size).toBe(30);
  });

  it("and discarded comes back", async () => {
    await staged(3);
    await press("Discard");
    await userEvent.click((await screen.findAllByRole("button", { name: "Discard" })).at(-1)!);
    await screen.findByText("The pending changes were discarded.");
    expect(router.state.staged.size).toBe(0);
    const undo = screen.getByText("The pending changes were discarded.").closest("div")!;
    await userEvent.click(undo.querySelector("button")!);
    await waitFor(() => expect(router.state.staged.size).toBe(3));
  });
});

describe("what was committed", () => {
  const commit = async (name: string) => {
    await staged(1);
    await press(name);
    const dialog = within(await screen.findByRole("dialog"));
    await userEvent.click(await dialog.findByRole("button", { name }));
  };

  it("is undone by a restore, from its toast", async () => {
    await commit("Commit");
    const said = (await screen.findByText(/^Revision 2 is running/)).closest("div")!;
    await userEvent.click(said.querySelector("button")!);
    await waitFor(() => expect(router.state.revisions[0]).toMatchObject({ kind: "restore", restores: 1 }));
    expect(router.state.revisions[0]?.message).toBe("Undo of revision 2");
  });

  it("is not undone over what somebody committed since", async () => {
    await commit("Commit");
    const said = (await screen.findByText(/^Revision 2 is running/)).closest("div")!;
    router.state.revisions.unshift({ ...router.state.revisions[0]!, revision: 3, author: "eve" });
    await userEvent.click(said.querySelector("button")!);
    expect(await screen.findByText(/^Revision 3 was committed since\./)).toBeTruthy();
    expect(router.state.revisions).toHaveLength(3);
  });

  it("and reverted is put back as pending", async () => {
    await commit("Commit with timer");
    await press("Revert now");
    await press("Put back as pending");
    await waitFor(() => expect([...router.state.staged.keys()]).toEqual(["queue/q1"]));
  });

  it("and not kept in time is put back as pending", async () => {
    await commit("Commit with timer");
    await screen.findByRole("button", { name: "Keep" });
    router.state.pending!.deadline_at = new Date(Date.now() + 8_000).toISOString();
    const said = await screen.findByText(/was not kept in time/, undefined, { timeout: 25_000 });
    await userEvent.click(said.closest("div")!.querySelector("button")!);
    await waitFor(() => expect([...router.state.staged.keys()]).toEqual(["queue/q1"]));
  }, 60_000);
});
