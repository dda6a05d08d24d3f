// SPDX-License-Identifier: Apache-2.0
import { MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { queryClient } from "@/api/queries";
import { Limits, QueueName } from "@/pages/queues/columns";
import { InlineLimits } from "@/pages/queues/InlineLimits";
import { withStaged, type QueueRow } from "@/pages/queues/rows";
import { LIVE_COLUMNS, shownOf } from "@/table/liveColumns";
import { StaticBar } from "@/table/RateBar";
import type { Change } from "@/api/types";
import { statsOf } from "./mock/live";
import { mockQueue } from "./mock/state";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const rate = (upload: number, download: number) => ({ upload: upload * 1e6, download: download * 1e6 });

const shown = (what: React.ReactNode) =>
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={queryClient}>{what}</QueryClientProvider>
    </MantineProvider>,
  );

describe("a limit that is edited in its cell", () => {
  const queue = () => [...router.state.queues.values()][1]!;
  /** Opens the field and replaces what is in it. */
  async function typed(text: string) {
    const [user, onStep, onClose] = [userEvent.setup(), vi.fn(), vi.fn()];
    shown(<InlineLimits base="r1" queue={queue()} onClose={onClose} onStep={onStep} />);
    const field = screen.getByRole<HTMLInputElement>("textbox");
    await user.clear(field);
    await user.type(field, text);
    const words = () => document.getElementById(field.getAttribute("aria-describedby") ?? "")?.textContent;
    return { user, field, words, onStep, onClose };
  }

  it("says in words under the field what is wrong with it, and stays", async () => {
    const { user, field, words, onStep } = await typed("7Q");
    expect(words()).toMatch(/"7Q" is not a rate/);
    expect(field.getAttribute("aria-invalid")).toBe("true");
    await user.keyboard("{Tab}");
    expect(document.activeElement).toBe(field);
    expect(onStep).not.toHaveBeenCalled();
  });

  it.each([
    ["{Tab}", 1],
    ["{Shift>}{Tab}{/Shift}", -1],
  ])("is staged by %s, which goes on in the row at %i", async (keys, by) => {
    const { user, onStep } = await typed("7M/9M");
    await user.keyboard(keys);
    await waitFor(() => expect(onStep).toHaveBeenCalledWith(by));
    expect(router.state.staged.get(`queue/${queue().id}`)?.new).toMatchObject({ max_limit_bps: rate(7, 9) });
  });

  it("keeps what was typed when the router refuses it, and says why there", async () => {
    router.state.refuse = [
      {
        severity: "error",
        code: "x",
        message: "the parent allows 5M",
        kind: "queue",
        id: queue().id,
        field: null,
      },
    ];
    const { user, field, words, onStep } = await typed("7M");
    await user.keyboard("{Tab}");
    await waitFor(() => expect(words()).toBe("The parent allows 5M."));
    expect([field.value, onStep.mock.calls.length]).toEqual(["7M", 0]);
  });
});

describe("a row with a change that is not in force", () => {
  const queue = mockQueue("q1", { name: "customer-07 of the northern tower", max_limit_bps: rate(5, 50) });
  const change: Change = {
    kind: "queue",
    id: "q1",
    name: queue.name,
    action: "change",
    fields: [],
    old: null,
    new: { max_limit_bps: rate(7, 50) },
  };
  const row: QueueRow = { depth: 0, expanded: null, ...withStaged(queue, new Map([["q1", change]])) };
  it("shows old and new in the cell that changed, and nothing in the others", () => {
    shown(<Limits row={row} context={{ editing: false, onToggle: () => undefined, onEdit: null }} />);
    const changed = screen.getByTitle("5M → 7M, not committed yet");
    expect(within(changed).getByText("5M").tagName).toBe("DEL");
    expect(screen.getByText("50M").tagName).toBe("SPAN");
  });

  it("has a sign before its name, and no words that take its room", () => {
    shown(<QueueName row={{ ...row, staged: "add" }} onToggle={() => undefined} />);
    const name = screen.getByText(queue.name);
    expect(within(name.parentElement!).getByRole("img", { name: "new, not committed yet" })).toBeInstanceOf(
      Element,
    );
    expect(name.parentElement?.textContent).toBe(queue.name);
  });
});

describe("the colour of a figure", () => {
  const queue = mockQueue("q1", { max_limit_bps: rate(10, 10) });
  const stats = (upload: number, drops: number) => ({
    ...statsOf(queue, 0),
    live: true,
    rate_bps: rate(upload, 0),
    drops_ps: { upload: drops, download: 0 },
  });

  it("is the direction's below 90 % of the limit, amber above, and red for loss alone", () => {
    expect(shownOf(LIVE_COLUMNS.rate_upload, stats(8.9, 9), queue.max_limit_bps).level).toBe("upload");
    expect(shownOf(LIVE_COLUMNS.rate_upload, stats(9, 9), queue.max_limit_bps).level).toBe("warn");
    expect(shownOf(LIVE_COLUMNS.rate_upload, stats(20, 9), queue.max_limit_bps).level).toBe("warn");
    expect([
      shownOf(LIVE_COLUMNS.drops, stats(1, 9), queue.max_limit_bps).loss,
      shownOf(LIVE_COLUMNS.drops, stats(1, 0), queue.max_limit_bps).loss,
    ]).toEqual([true, undefined]);
  });

  it("has none of a direction where there is no direction", () => {
    render(<StaticBar rateBps={0.8} limitBps={1} label="80 %" />);
    expect(screen.getByText("80 %").dataset["level"]).toBe("plain");
  });
});

describe("an empty form of a VLAN", () => {
  it("gives an example that is one, and names a port that there is", async () => {
    renderAt("/interfaces?edit=new");
    const name = await screen.findByRole("textbox", { name: /^Name/ });
    await waitFor(() => expect(name.getAttribute("placeholder")).toMatch(/^such as (lan0|wan0)\.100$/));
  });
});
