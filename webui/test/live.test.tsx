// SPDX-License-Identifier: Apache-2.0
import { MantineProvider } from "@mantine/core";
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { live } from "@/api/live";
import { LiveCells, LiveLayer } from "@/table/LiveCells";
import { LivePainter } from "@/table/LivePainter";
import { interfaceStats, statsOf } from "./mock/live";
import { FakeEventSource, mockRouter, renderAt } from "./render";

const router = mockRouter();
const AT = Date.UTC(2026, 0, 2, 14, 2, 11) / 1000;
const clock = new Date(AT * 1000).toLocaleTimeString("en-GB");

const send = (name: string, data: unknown) => act(() => FakeEventSource.last?.send(name, data));
const measured = (at: number) =>
  send("interfaces", { at, stale_since: null, stale_reason: null, items: interfaceStats(at) });
const pageIsGrey = () => document.querySelector("main")?.dataset["stale"] === "true";

describe("live data", () => {
  it("that the router says is old is greyed, with the time of the last measurement and the reason", async () => {
    renderAt("/about");
    await screen.findByRole("heading", { name: "About" });
    measured(AT);
    expect(pageIsGrey()).toBe(false);
    send("stale", { at: AT + 5, since: AT, reason: "the agent does not answer" });
    expect(
      screen.getByText(new RegExp(`No live data since ${clock}, the agent does not answer`)),
    ).toBeInstanceOf(HTMLElement);
    expect(pageIsGrey()).toBe(true);
    measured(AT + 6);
    expect(screen.queryByText(/No live data/)).toBeNull();
    expect(pageIsGrey()).toBe(false);
  });

  it("of a queue is shown as it comes, and a queue without a class has a dash instead of a zero", async () => {
    const queue = [...router.state.queues.values()].at(-1)!;
    renderAt(`/queues/${queue.id}`);
    const facts = await screen.findByTestId("live-facts");
    await waitFor(() => expect(FakeEventSource.last?.url).toContain(queue.id));
    const stats = { ...statsOf(queue, AT), rate_bps: { upload: 1_230_000, download: 4_560_000 } };
    send("queues", { at: AT, stale_since: null, stale_reason: null, items: [stats] });
    expect(facts.textContent).toContain("1.23 Mbit/s");
    expect(screen.getAllByTestId("rate-download").at(-1)?.textContent).toBe("4.56M");
    send("queues", { at: AT + 1, stale_since: null, stale_reason: null, items: [{ ...stats, live: false }] });
    expect(facts.textContent).not.toContain("Mbit/s");
    expect(screen.getAllByTestId("rate-download").at(-1)?.textContent).toBe("–");
  });

  it("that can have no value has a dash with the reason, and none when there is one again", async () => {
    const queue = [...router.state.queues.values()].at(-1)!;
    renderAt(`/queues/${queue.id}`);
    await screen.findByTestId("live-facts");
    await waitFor(() => expect(FakeEventSource.last?.url).toContain(queue.id));
    const stats = statsOf(queue, AT);
    const without = {
      ...stats,
      delay_us: null,
      worst_delay_us: null,
      delay_reason: "lan0: fq is missing",
      fast_share: null,
      fast_share_reason: "lan0: turned off",
    };
    send("queues", { at: AT, stale_since: null, stale_reason: null, items: [without] });
    const delays = screen.getAllByRole("note", { name: "no value: lan0: fq is missing" });
    expect(delays.map((cell) => [cell.textContent, cell.title])).toEqual(
      Array(4).fill(["—", "lan0: fq is missing"]),
    );
    expect(screen.getByRole("note", { name: "no value: lan0: turned off" }).textContent).toBe("—");
    send("queues", {
      at: AT + 1,
      stale_since: null,
      stale_reason: null,
      items: [{ ...stats, fast_share: 0, fast_share_reason: "wan0: turned off" }],
    });
    expect(screen.getAllByRole("note").map((cell) => cell.getAttribute("aria-label"))).toEqual([
      "0 %: wan0: turned off",
    ]);
    send("queues", { at: AT + 2, stale_since: null, stale_reason: null, items: [stats] });
    expect(screen.queryAllByRole("note")).toEqual([]);
  });

  it("of a list says the reason in the cell's name and under the pointer", async () => {
    const queue = [...router.state.queues.values()].at(-1)!;
    const stats = { ...statsOf(queue, AT), fast_share: null, fast_share_reason: "lan0: turned off" };
    const painter = new LivePainter();
    const columns = ["fast"] as const;
    live.start();
    try {
      render(
        <MantineProvider env="test">
          <LiveLayer painter={painter} columns={columns} spans={[{ left: 0, width: 60 }]} rowPx={26} />
          <LiveCells
            index={0}
            queueId={queue.id}
            limitBps={queue.max_limit_bps}
            columns={columns}
            painter={painter}
          />
        </MantineProvider>,
      );
      send("queues", { at: AT, stale_since: null, stale_reason: null, items: [stats] });
      const cell = await screen.findByRole("gridcell", { name: "no value: lan0: turned off" });
      fireEvent.pointerEnter(cell);
      expect(cell.title).toBe("lan0: turned off");
    } finally {
      live.stop();
    }
  });
});

describe("a stream that says nothing more", () => {
  beforeEach(
    () =>
      void vi.useFakeTimers({
        shouldAdvanceTime: true,
        toFake: ["setTimeout", "clearTimeout", "performance"],
      }),
  );
  afterEach(() => void vi.useRealTimers());

  it("is noticed by the page itself", async () => {
    renderAt("/about");
    await screen.findByRole("heading", { name: "About" });
    measured(AT);
    act(() => void vi.advanceTimersByTime(3_000));
    expect(screen.queryByText(/No live data/)).toBeNull();
    act(() => void vi.advanceTimersByTime(1_000));
    expect(screen.getByText(new RegExp(`No live data since ${clock}, reconnecting`))).toBeInstanceOf(
      HTMLElement,
    );
    expect(screen.getByRole("button", { name: "Router state: No answer" })).toBeInstanceOf(HTMLElement);
    expect(pageIsGrey()).toBe(true);
  });
});
