// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { queueInput } from "@/api/writes";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();

/** The bar of a page with one pending change. */
async function pending(at = "/about") {
  const queue = [...router.state.queues.values()][1]!;
  router.state.staged.set(`queue/${queue.id}`, {
    kind: "queue",
    id: queue.id,
    new: { ...queueInput(queue), max_limit_bps: { upload: 7e6, download: 8e6 } },
    base: null,
  });
  renderAt(at);
  const bar = within(await screen.findByRole("region", { name: "Pending changes" }));
  const press = async (name: string) => {
    await userEvent.click(bar.getByRole("button", { name }));
    return within(await screen.findByRole("dialog"));
  };
  return { queue, bar, press };
}

const timer = () =>
  screen.getByRole<HTMLSelectElement>("combobox", { name: "Roll back by itself unless kept" })
    .selectedOptions[0]?.text;

describe("the bar of pending changes", () => {
  it("has one primary button", async () => {
    const { bar } = await pending();
    expect(
      bar
        .getAllByRole("button")
        .filter((button) => button.dataset["variant"] === "filled")
        .map((button) => button.textContent),
    ).toEqual(["Commit with timer"]);
  });

  it("opens a diff by Diff, with nothing to fill in, from which a change is undone", async () => {
    const { queue, press } = await pending();
    const dialog = await press("Diff");
    expect(await dialog.findByText("upload 7M, download 8M")).toBeTruthy();
    expect(dialog.getByText("hitless, no packet is lost for it")).toBeTruthy();
    expect(dialog.queryByRole("textbox")).toBeNull();
    expect(dialog.queryByRole("combobox")).toBeNull();
    expect(
      dialog.getAllByRole("button").filter((button) => button.getAttribute("type") === "submit"),
    ).toEqual([]);
    await userEvent.click(dialog.getByRole("button", { name: `Undo the change of ${queue.name}` }));
    await waitFor(() => expect(router.state.staged.size).toBe(0));
  });

  it("leads from the diff to the commit", async () => {
    const { press } = await pending();
    const dialog = await press("Diff");
    await userEvent.click(await dialog.findByRole("button", { name: "Commit with timer" }));
    expect(timer()).toBe("within 1 minute");
  });

  it("says of each change what it costs, and of a commit", async () => {
    const { queue, press } = await pending();
    router.state.effects.set(`queue/${queue.id}`, {
      ...{
        kind: "queue",
        id: queue.id,
        effect: "drops-sessions",
        text: "wan0 loses the address 192.0.2.7/24",
      },
      ...{ lasts_ms: null, sessions: 3, sessions_complete: false },
    });
    const dialog = await press("Commit");
    const words = "drops sessions (at least 3): wan0 loses the address 192.0.2.7/24";
    expect(await dialog.findByText(words)).toBeTruthy();
    await userEvent.click(dialog.getByRole("button", { name: "Commit" }));
    expect(
      await screen.findByText(new RegExp(`Revision 2 is running.*${queue.id} drops sessions`)),
    ).toBeTruthy();
  });

  it("says when nobody knows what a change costs", async () => {
    const { queue, press } = await pending();
    router.state.effects.set(`queue/${queue.id}`, null);
    const dialog = await press("Diff");
    expect(await dialog.findByText("not known")).toBeTruthy();
    expect(dialog.getByText("Whether packets or sessions are lost for it is not known.")).toBeTruthy();
  });

  it("commits without a timer where none is asked for", async () => {
    const { press } = await pending();
    const dialog = await press("Commit");
    expect(dialog.queryByRole("combobox")).toBeNull();
    await userEvent.click(dialog.getByRole("button", { name: "Commit" }));
    await waitFor(() => expect(router.state.revisions[0]?.revision).toBe(2));
    expect(router.state.pending).toBeNull();
  });
});

describe("a change that cuts off who makes it", () => {
  const text = "the router would not have the address 192.168.88.1, at which you reach it";
  const cut = () => {
    router.state.yourWay = {
      ...{ fate: "cuts-off-you", text, address: "192.168.88.20" },
      ...{ kind: "interface", id: "lan0" },
    };
  };

  it("is said, and is committed with a timer only", async () => {
    cut();
    const { press } = await pending();
    const dialog = await press("Commit");
    expect(await dialog.findByText(/This cuts you off: the router would not have/)).toBeTruthy();
    expect(timer()).toBe("within 1 minute");
    const window = screen.getByRole("combobox", { name: "Roll back by itself unless kept" });
    await userEvent.selectOptions(window, "no timer");
    await userEvent.click(dialog.getByRole("button", { name: "Commit" }));
    expect((await screen.findAllByText("This cuts you off: choose a timer.")).length).toBeGreaterThan(0);
    expect(router.state.revisions[0]?.revision).toBe(1);
    await userEvent.selectOptions(window, "within 5 minutes");
    await userEvent.click(dialog.getByRole("button", { name: "Commit with timer" }));
    await waitFor(() => expect(router.state.pending?.window_s).toBe(300));
  });

  it("brings the timer where the router says so at the commit only", async () => {
    const { press } = await pending();
    const dialog = await press("Commit");
    expect(await dialog.findByText("hitless, no packet is lost for it")).toBeTruthy();
    cut();
    await userEvent.click(dialog.getByRole("button", { name: "Commit" }));
    expect(await dialog.findByText(/This would cut you off/)).toBeTruthy();
    expect(timer()).toBe("within 1 minute");
    await userEvent.click(dialog.getByRole("button", { name: "Commit with timer" }));
    await waitFor(() => expect(router.state.pending?.window_s).toBe(60));
  });

  it("is not said to leave the way as it is where nobody knows", async () => {
    router.state.yourWay = { ...router.state.yourWay, fate: "not-known", text: "you come by a proxy" };
    const { press } = await pending();
    const dialog = await press("Diff");
    expect(
      await dialog.findByText("Whether you still reach the router is not known: you come by a proxy."),
    ).toBeTruthy();
  });
});

describe("the timer of a change that must be kept", () => {
  it("begins with a minute for a commit", async () => {
    const { press } = await pending();
    const dialog = await press("Commit with timer");
    expect(timer()).toBe("within 1 minute");
    await userEvent.click(dialog.getByRole("button", { name: "Commit with timer" }));
    await waitFor(() => expect(router.state.pending?.window_s).toBe(60));
  });

  it("begins with a minute for an import", async () => {
    renderAt("/import?report=rep1");
    await userEvent.click(await screen.findByRole("button", { name: "Commit this import" }));
    expect(timer()).toBe("within 1 minute");
  });

  it("begins with a minute where an old revision is restored", async () => {
    renderAt("/history?restore=1");
    await screen.findByRole("dialog");
    expect(timer()).toBe("within 1 minute");
  });

  it("begins with a minute where a backup is restored", async () => {
    renderAt("/backup");
    await userEvent.upload(
      await screen.findByLabelText("Backup to restore"),
      new File(["weir"], "core.weir"),
    );
    await screen.findByRole("form", { name: "Restore" });
    expect(timer()).toBe("within 1 minute");
  });
});
