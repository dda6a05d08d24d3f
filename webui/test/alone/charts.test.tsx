// SPDX-License-Identifier: Apache-2.0
import { MantineProvider } from "@mantine/core";
import { fireEvent, render, screen } from "@testing-library/react";
import type uPlot from "uplot";
import { describe, expect, it, vi } from "vitest";
import type { ObjectVersion } from "@/api/types";
import { queue as queueSearch } from "@/app/search";
import { eventsOf, rowsOf, summaryOf } from "@/pages/queue/figures";
import { FiguresTable } from "@/pages/queue/FiguresTable";
import type { Graph as RealGraph } from "@/ui/Graph";
import { gapsOf } from "@/ui/graphPlugins";

const plots = vi.hoisted(
  () => [] as { options: uPlot.Options; data: uPlot.AlignedData; at: number | null }[],
);
vi.mock("uplot", () => ({
  default: class {
    cursor: { idx: number | null } = { idx: null };
    at: number | null = null;
    constructor(
      readonly options: uPlot.Options,
      readonly data: uPlot.AlignedData,
    ) {
      plots.push(this);
    }
    valToPos = (value: number) => value;
    setCursor = ({ left }: { left: number }) => {
      this.at = left;
      this.cursor.idx = this.data[0].indexOf(left);
    };
    setData = () => undefined;
    setSize = () => undefined;
    destroy = () => undefined;
  },
}));

const DATA = {
  at: [100, 101, 102, 103],
  upload: [1_000, null, 3_000, 2_000],
  download: [8_000, null, 4_000, 6_000],
};

async function drawn(props: Partial<Parameters<typeof RealGraph>[0]>) {
  const { Graph } = await vi.importActual<{ Graph: typeof RealGraph }>("@/ui/Graph");
  render(
    <MantineProvider env="test">
      <Graph label="g" data={DATA} {...props} />
    </MantineProvider>,
  );
  return plots.at(-1)!;
}

const range = (plot: { options: uPlot.Options }): [number, number] =>
  (plot.options.scales!["y"]!.range as () => [number, number])();

describe("a graph", () => {
  it("draws download up and upload down, each with room for its limit", async () => {
    const plot = await drawn({ limits: { upload: 5_000, download: 20_000 } });
    expect(plot.data[1]).toEqual([-1_000, null, -3_000, -2_000]);
    expect(plot.data[2]).toEqual(DATA.download);
    const [low, high] = range(plot);
    expect(low).toBeLessThan(-5_000);
    expect(low).toBeGreaterThan(-8_000);
    expect(high).toBeGreaterThan(20_000);
    const words = plot.options.axes![1]!.values as (plot: unknown, values: number[]) => string[];
    expect(words(plot, [-2_000_000, 0, 2_000_000])).toEqual(["2M", "0", "2M"]);
  });

  it("shares its crosshair with the others of the page, and the arrow keys move it", async () => {
    const plot = await drawn({});
    expect(plot.options.cursor?.sync?.key).toBe("weir");
    const graph = screen.getByRole("img", { name: "g" });
    fireEvent.keyDown(graph, { key: "ArrowLeft" });
    expect(plot.at).toBe(103);
    fireEvent.keyDown(graph, { key: "ArrowLeft" });
    expect(plot.at).toBe(102);
    fireEvent.keyDown(graph, { key: "ArrowRight" });
    fireEvent.keyDown(graph, { key: "ArrowRight" });
    expect(plot.at).toBe(103);
  });

  it("knows which time was not measured", () => {
    const seconds = Array.from({ length: 60 }, (_, index) => 1_000 + index);
    const values = seconds.map((at) => (at >= 1_020 && at < 1_040 ? null : 5));
    expect(gapsOf([seconds, values, values], 1_000, 1_059)).toEqual([[1_019, 1_039.5]]);
    expect(gapsOf([seconds, values, values], 900, 1_059)[0]).toEqual([900, 1_000]);
    const zeros = seconds.map(() => 0);
    expect(gapsOf([seconds, zeros, zeros], 1_000, 1_059)).toEqual([]);
  });
});

describe("the figures of a graph", () => {
  it("are mean, 95th percentile and most of what was measured in the shown time", () => {
    const at = Array.from({ length: 100 }, (_, index) => index);
    const values = at.map((index) => (index < 50 ? null : index));
    const { upload, download } = summaryOf({ at, upload: values, download: at }, null);
    expect(upload).toEqual({ mean: 74.5, p95: 97, most: 99 });
    expect(download?.p95).toBe(94);
    expect(summaryOf({ at, upload: values, download: at }, { fromS: 0, toS: 49 }).upload).toBeNull();
  });

  it("are a table that ends with the newest, and does not take a gap for zero", () => {
    const at = Array.from({ length: 121 }, (_, index) => index);
    expect(rowsOf({ at, upload: at, download: at }, null)[0]).toBe(120);
    expect(rowsOf({ at, upload: at, download: at }, null).length).toBeLessThanOrEqual(60);
    render(<FiguresTable data={DATA} zoom={{ fromS: 101, toS: 102 }} />);
    const details = screen.getByText("Figures as a table").closest("details")!;
    details.open = true;
    fireEvent(details, new Event("toggle"));
    const rows = screen.getAllByRole("row").slice(1);
    expect(rows).toHaveLength(2);
    expect(rows[0]!.textContent).toContain("3.00 kbit/s");
    expect(rows[1]!.textContent).toContain("not measured");
  });

  it("name what each commit did, and who did it", () => {
    const version = (action: string, fields: object[]) =>
      ({
        action,
        fields,
        revision: { revision: 2, author: "admin", created_at: "2026-01-01T00:00:10Z" },
      }) as unknown as ObjectVersion;
    const changed = version("change", [{ field: "max_limit_bps.download", old: 2_000_000, new: 4_000_000 }]);
    expect(eventsOf([changed, version("add", [])])).toEqual([
      { at: Date.UTC(2026, 0, 1, 0, 0, 10) / 1000, text: "limit ↓ 2M → 4M, admin" },
      { at: Date.UTC(2026, 0, 1, 0, 0, 10) / 1000, text: "created, admin" },
    ]);
  });

  it("reach back 30 days, by the page's address", () => {
    expect(queueSearch({ window: "30d" }).window).toBe("30d");
    expect(queueSearch({ window: "1y" }).window).toBeUndefined();
  });
});
