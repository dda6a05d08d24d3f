// SPDX-License-Identifier: Apache-2.0
import { MantineProvider } from "@mantine/core";
import { act, render, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { live } from "@/api/live";
import type { QueueStats } from "@/api/types";
import { LiveCells, LiveLayer } from "@/table/LiveCells";
import type { Drawer } from "@/table/drawer";
import type { Order, Palette, Said, Shown } from "@/table/orders";
import { LivePainter } from "@/table/LivePainter";
import { statsOf } from "./mock/live";
import { FakeEventSource, mockRouter } from "./render";

const palette: Palette = {
  text: "black",
  dim: "grey",
  loss: "red",
  fill: { none: "none", upload: "violet", download: "teal", plain: "grey", warn: "amber" },
  font: "13px x",
  boldFont: "600 13px x",
  area: { upload: "up", download: "down", zero: "zero" },
  outlined: false,
};
const SPANS = [
  { left: 600, width: 100 },
  { left: 710, width: 60 },
];
const ROW_PX = 26;
const rate = (text: string, fill: number): Shown => ({
  text,
  nothing: false,
  fill,
  level: fill >= 0.9 ? "warn" : "download",
});
const plain = (text: string): Shown => ({ text, nothing: false, fill: null, level: "none" });

/** A canvas that writes down what it was told; jsdom has none. */
let said: string[] = [];
const pen = () => ({
  fillStyle: "",
  fillText(text: string) {
    said.push(text);
  },
  fillRect(left: number, _top: number, width: number) {
    said.push(`${this.fillStyle} ${left}+${width}`);
  },
  clearRect() {},
  resetTransform() {},
  setTransform() {},
  measureText: () => ({ width: 10, fontBoundingBoxAscent: 10, fontBoundingBoxDescent: 3 }),
});
/** What was drawn since the last time; all orders of a task go out together at its end. */
const drawn = async (): Promise<string[]> => {
  await Promise.resolve();
  return said.splice(0);
};

beforeEach(() => {
  said = [];
  vi.spyOn(HTMLCanvasElement.prototype, "getContext").mockImplementation(pen as never);
});

describe("the painter of live columns", () => {
  const make = (drawer?: Drawer) => {
    const host = document.createElement("div");
    const painter = new LivePainter();
    painter.attach(host, drawer);
    return {
      host,
      painter,
      canvases: () => Array.from(host.querySelectorAll("canvas")).filter((canvas) => !canvas.hidden),
    };
  };

  it("fills a bar to the rate's share of the limit, and touches only what differs", async () => {
    const { painter } = make();
    painter.layOut({ columns: [], spans: SPANS, rowPx: ROW_PX, palette });
    painter.draw(3, [rate("8M", 0.8), plain("2 ms")]);
    expect(await drawn()).toEqual(["teal 0+80", "8M", "2 ms"]);
    painter.draw(3, [rate("8M", 0.8), plain("3 ms")]);
    expect(await drawn()).toEqual(["3 ms"]);
    painter.draw(3, [rate("8M", 0.8001), plain("3 ms")]);
    expect(await drawn()).toEqual([]);
  });

  it("draws what came before the columns were known, and again where they moved", async () => {
    const { painter } = make();
    painter.draw(0, [rate("1M", 0.1), plain("0")]);
    expect(await drawn()).toEqual([]);
    for (const width of [100, 50]) {
      painter.layOut({ columns: [], spans: [{ left: 600, width }, SPANS[1]!], rowPx: ROW_PX, palette });
      expect(await drawn()).toEqual([`teal 0+${width / 10}`, "1M", "0"]);
    }
  });

  it("has columns of its own beside another painter of the page", async () => {
    const [table, head] = [make(), make()];
    table.painter.layOut({ columns: [], spans: SPANS, rowPx: ROW_PX, palette });
    head.painter.layOut({ columns: [], spans: [{ left: 0, width: 50 }], rowPx: 24, palette });
    await drawn();
    table.painter.draw(0, [rate("8M", 0.8), plain("2 ms")]);
    head.painter.draw(0, [rate("8M", 0.8)]);
    expect(await drawn()).toEqual(["teal 0+80", "8M", "2 ms", "teal 0+40", "8M"]);
  });

  it("gives the canvas of rows that left to rows that come", async () => {
    const { host, painter, canvases } = make();
    painter.layOut({ columns: [], spans: SPANS, rowPx: ROW_PX, palette });
    for (const index of [0, 1]) painter.draw(index, [rate("1M", 0.1), plain("0")]);
    await drawn();
    painter.clear(0);
    expect(canvases()).toHaveLength(1);
    painter.clear(1);
    expect(canvases()).toHaveLength(0);
    painter.draw(1_600, [rate("1M", 0.1), plain("0")]);
    await drawn();
    expect(canvases().map((canvas) => canvas.style.top)).toEqual([`${1_600 * ROW_PX}px`]);
    expect(host.querySelectorAll("canvas")).toHaveLength(1);
  });

  it("hides a canvas that moved until its new rows stand on it", async () => {
    const orders: Order[] = [];
    let answer: (said: Said) => void = () => undefined;
    const { painter, canvases } = make({
      take: (order) => void orders.push(order),
      read: () => undefined,
      handOver: (canvas) => canvas,
      listen: (listener) => {
        answer = listener;
        return () => undefined;
      },
    });
    painter.layOut({ columns: [], spans: SPANS, rowPx: ROW_PX, palette });
    painter.draw(0, [rate("1M", 0.1), plain("0")]);
    await drawn();
    expect(canvases()).toHaveLength(0);
    const [block] = orders.at(-1)!.wiped;
    answer({ shown: [block!] });
    expect(canvases()).toHaveLength(1);
    painter.clear(0);
    painter.draw(320, [rate("2M", 0.2), plain("0")]);
    await drawn();
    expect(canvases()).toHaveLength(0);
    answer({ shown: [block!] });
    expect(canvases()).toHaveLength(1);
  });

  it("tells of one measurement in one message", async () => {
    const orders: Order[] = [];
    const { painter } = make({
      take: (order) => void orders.push(order),
      read: () => undefined,
      handOver: (canvas) => canvas,
      listen: () => () => undefined,
    });
    painter.layOut({ columns: [], spans: SPANS, rowPx: ROW_PX, palette });
    for (let index = 0; index < 40; index++) painter.draw(index, [rate("1M", 0.1), plain("0")]);
    await drawn();
    orders.length = 0;
    for (let index = 0; index < 40; index++) painter.draw(index, [rate("2M", 0.1), plain("0")]);
    await drawn();
    expect(orders).toHaveLength(1);
    expect(orders[0]!.lines.map(([, row, ...cells]) => [row, cells.length])).toEqual(
      Array.from({ length: 40 }, (_, index) => [index % 16, 1]),
    );
  });
});

describe("a row's live cells", () => {
  const router = mockRouter();
  const COLUMNS = ["rate_download", "drops"] as const;
  const NONE = { at: 1, stale_since: null, stale_reason: null };
  const send = (at: number, ...items: QueueStats[]) =>
    act(() => FakeEventSource.last?.send("queues", { ...NONE, at, items }));
  const names = () => screen.getAllByRole("gridcell").map((cell) => cell.ariaLabel);

  const show = async (index = 0) => {
    const queue = [...router.state.queues.values()][0]!;
    const painter = new LivePainter();
    const view = render(
      <MantineProvider env="test">
        <LiveLayer painter={painter} columns={COLUMNS} spans={SPANS} rowPx={ROW_PX} />
        <div role="row">
          <LiveCells
            index={index}
            queueId={queue.id}
            limitBps={{ upload: 0, download: 10_000_000 }}
            columns={COLUMNS}
            painter={painter}
          />
        </div>
      </MantineProvider>,
    );
    live.start();
    await waitFor(() => expect(FakeEventSource.last?.url).toContain(queue.id));
    const stats = (mbps: number): QueueStats => ({
      ...statsOf(queue, 0),
      live: true,
      rate_bps: { upload: 0, download: mbps * 1e6 },
      drops_ps: { upload: 1, download: 2 },
    });
    return { view, queue, stats };
  };
  afterEach(() => live.stop());

  it("are called by what is drawn in them, for who cannot see it", async () => {
    const { stats } = await show();
    send(1, stats(4.56));
    expect(names()).toEqual(["4.56M", "3.0"]);
    send(2, { ...stats(4.56), live: false });
    expect(names()).toEqual(["–", "–"]);
  });

  it("are drawn with each measurement, and named every five seconds", async () => {
    const clock = vi.spyOn(performance, "now").mockReturnValue(1_000);
    const { stats } = await show();
    said = [];
    const found = [];
    for (const [at, ms] of [1_000, 2_000, 5_900, 6_000].entries()) {
      clock.mockReturnValue(ms);
      send(at + 1, stats(at + 1));
      found.push([said.splice(0).at(-1), names()[0]]);
    }
    expect(found).toEqual([
      ["3.0", "1.00M"],
      ["2.00M", "1.00M"],
      ["3.00M", "1.00M"],
      ["4.00M", "4.00M"],
    ]);
  });

  it("are read by the page when it asks, and are not known any more when one signs out", async () => {
    const { queue, stats } = await show();
    send(1, stats(2));
    expect(live.latest(queue.id)?.rate_bps.download).toBe(2e6);
    expect(live.freshness.value).toEqual({ state: "live" });
    act(() => live.stop());
    expect(live.latest(queue.id)).toBeNull();
    expect(names()).toEqual(["–", "–"]);
  });

  it("ask for nothing more when their row has gone", async () => {
    const { view, queue } = await show();
    view.unmount();
    await waitFor(() => expect(FakeEventSource.last?.url).not.toContain(queue.id));
  });
});
