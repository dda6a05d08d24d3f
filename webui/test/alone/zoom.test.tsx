// SPDX-License-Identifier: Apache-2.0
import { MantineProvider } from "@mantine/core";
import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import type uPlot from "uplot";
import { beforeEach, describe, expect, it, vi } from "vitest";
import * as search from "@/app/search";
import type { Graph as RealGraph } from "@/ui/Graph";
import type { Zoom } from "@/ui/zoom";
import { moved, scaled, zoomOf, zoomWithin } from "@/ui/zoom";
import { interfaceStats } from "../mock/live";
import { FakeEventSource, mockRouter, renderAt } from "../render";

type GraphProps = Parameters<typeof RealGraph>[0];

/** What was given to each graph last, by its label. */
const shown = vi.hoisted(() => new Map<string, GraphProps>());
vi.mock("@/ui/Graph", () => ({
  Graph: (props: GraphProps) => {
    shown.set(props.label, props);
    return null;
  },
}));

/** Instead of a canvas, which jsdom does not draw. */
const plots = vi.hoisted(() => [] as { options: uPlot.Options; range: () => [number, number] }[]);
vi.mock("uplot", () => ({
  default: class {
    scales = { x: { min: 1000, max: 1120 } };
    select = { left: 25, top: 0, width: 50, height: 100 };
    constructor(readonly options: uPlot.Options) {
      plots.push({
        options,
        range: () =>
          (options.scales!["x"]!.range as uPlot.Range.Function)(
            this as unknown as uPlot,
            1000,
            1120,
            "x",
          ) as [number, number],
      });
    }
    posToVal = (at: number) => 1000 + at;
    setSelect = () => {
      this.select.width = 0;
    };
    setData = () => undefined;
    setSize = () => undefined;
    destroy = () => undefined;
  },
}));

const router = mockRouter();
const nowS = () => Math.floor(Date.now() / 1000);
const RATE = /^Upload and download rate of/;
const graph = (label: RegExp): GraphProps => [...shown].find(([name]) => label.test(name))![1];
const zoomShown = (label: RegExp) =>
  waitFor(() => expect(graph(label).zoom).toBeTruthy()).then(() => graph(label).zoom as Zoom);

beforeEach(() => shown.clear());

describe("a drag in a graph", () => {
  it("asks for the time that was dragged over, and the graph then shows only that", async () => {
    const { Graph } = await vi.importActual<{ Graph: typeof RealGraph }>("@/ui/Graph");
    const onZoom = vi.fn();
    const draw = (zoom: Zoom | null) => (
      <MantineProvider env="test">
        <Graph
          label="g"
          data={{ at: [1000, 1120], upload: [1, 1], download: [1, 1] }}
          spanS={120}
          zoom={zoom}
          onZoom={onZoom}
        />
      </MantineProvider>
    );
    const { rerender } = render(draw(null));
    const { options, range } = plots.at(-1)!;
    expect(range()).toEqual([1000, 1120]);
    const plot = {
      scales: { x: { min: 1000, max: 1120 } },
      select: { left: 25, top: 0, width: 50, height: 9 },
      posToVal: (at: number) => 1000 + at,
      setSelect: vi.fn(),
    };
    for (const selected of options.hooks!.setSelect as ((plot: unknown) => void)[]) selected(plot);
    expect(onZoom).toHaveBeenCalledWith({ fromS: 1025, toS: 1075 });
    expect(plot.setSelect).toHaveBeenCalledWith({ left: 0, top: 0, width: 0, height: 0 }, false);
    rerender(draw({ fromS: 1025, toS: 1075 }));
    expect(range()).toEqual([1025, 1075]);
  });

  it("draws no rectangle where there is nothing to zoom", async () => {
    const { Graph } = await vi.importActual<{ Graph: typeof RealGraph }>("@/ui/Graph");
    render(
      <MantineProvider env="test">
        <Graph label="g" data={{ at: [1], upload: [1], download: [1] }} />
      </MantineProvider>,
    );
    expect(plots.at(-1)!.options.cursor?.drag?.x).toBe(false);
  });
});

describe("the zoom of a queue's graphs", () => {
  it("holds for both graphs, and a button resets it", async () => {
    const user = userEvent.setup();
    renderAt("/queues/q1");
    await waitFor(() => expect(graph(RATE)).toBeTruthy());
    const zoom = { fromS: nowS() - 60, toS: nowS() - 30 };
    graph(RATE).onZoom!(zoom);
    expect(await zoomShown(RATE)).toEqual(zoom);
    expect(graph(/^Longest wait/).zoom).toEqual(zoom);
    await user.click(await screen.findByRole("button", { name: "Reset zoom" }));
    await waitFor(() => expect(graph(RATE).zoom).toBeNull());
  });

  it("is also that of the round trips, which a day has and two minutes have not", async () => {
    renderAt("/queues/q1?window=24h");
    await waitFor(() => expect(graph(/^Round trip of .* over 24h/)).toBeTruthy());
    expect(graph(/^Round trip/).data.download[1]).toBe(20_100);
  });

  it("is in the address, where Escape takes it away and + makes it closer", async () => {
    const user = userEvent.setup();
    const end = nowS();
    renderAt(`/queues/q1?zoom=${end - 100}-${end - 20}`);
    expect(await zoomShown(RATE)).toEqual({ fromS: end - 100, toS: end - 20 });
    await user.keyboard("+");
    await waitFor(() => expect(graph(RATE).zoom).toEqual({ fromS: end - 80, toS: end - 40 }));
    await user.keyboard("{Escape}");
    await waitFor(() => expect(graph(RATE).zoom).toBeNull());
  });

  it("that began before the two minutes is shown from what the router keeps longer", async () => {
    const start = nowS() - 3_600;
    router.server.use(
      http.get("*/api/v1/stats/queues/:id/history", ({ request }) => {
        const isHour = new URL(request.url).searchParams.get("window") === "1h";
        const list = (value: number) => Array<number>(isHour ? 360 : 120).fill(value);
        const side = {
          rate_bps: list(5),
          drops_ps: list(0),
          early_drops_ps: list(0),
          ancestor_drops_ps: list(0),
          marks_ps: list(0),
          worst_delay_us: list(0),
          round_trip_us: null,
        };
        return HttpResponse.json({
          id: "q1",
          window: "1h",
          start: isHour ? start : nowS() - 120,
          step_s: isHour ? 10 : 1,
          upload: side,
          download: side,
          delay_reason: null,
          limit_bps: { upload: 0, download: 0 },
        });
      }),
    );
    renderAt(`/queues/q1?zoom=${start + 600}-${start + 700}`);
    await zoomShown(RATE);
    await waitFor(() => expect(graph(RATE).data.at[0]).toBe(start));
  });
});

it("the overview has one zoom for all interfaces, and back returns to all of the time", async () => {
  const zoom = { fromS: nowS() - 60, toS: nowS() - 30 };
  const { history } = renderAt("/");
  await waitFor(() => expect(FakeEventSource.last).not.toBeNull());
  await screen.findAllByText("Waiting for the first measurement.");
  FakeEventSource.last!.send("interfaces", {
    at: nowS(),
    stale_since: null,
    stale_reason: null,
    items: interfaceStats(nowS()),
  });
  await waitFor(() => expect(shown.size).toBeGreaterThan(1));
  graph(/^Traffic of/).onZoom!(zoom);
  await waitFor(() =>
    expect([...shown.values()].map((props) => props.zoom)).toEqual([...shown].map(() => zoom)),
  );
  expect(history.location.search).toBe(`?zoom=${zoom.fromS}-${zoom.toS}`);
  history.back();
  await waitFor(() => expect(graph(/^Traffic of/).zoom).toBeNull());
});

it("an address that is no zoom is left out", () => {
  expect(search.overview({ zoom: "tomorrow" })).toEqual({ zoom: undefined });
});

describe("a zoom", () => {
  it("is whole seconds inside what is shown, and never nothing", () => {
    const all = { fromS: 1000, toS: 1120 };
    expect(zoomWithin(all, 990, 1010.5)).toEqual({ fromS: 1000, toS: 1011 });
    expect(zoomWithin(all, 1050, 1050.2)).toEqual({ fromS: 1048, toS: 1053 });
    expect(zoomWithin(all, 1119, 1130).toS).toBeGreaterThan(zoomWithin(all, 1119, 1130).fromS);
    expect(scaled({ fromS: 1000, toS: 1080 }, 0.5)).toEqual({ fromS: 1020, toS: 1060 });
    expect(moved({ fromS: 1000, toS: 1040 }, 1, 1045)).toEqual({ fromS: 1005, toS: 1045 });
    expect(moved({ fromS: 1000, toS: 1040 }, -1, 1045)).toEqual({ fromS: 990, toS: 1030 });
  });

  it("of a broken address is none", () => {
    for (const text of [undefined, "", "5", "7-3", "a-b", "1-2-3"]) expect(zoomOf(text)).toBeNull();
    expect(zoomOf("3-7")).toEqual({ fromS: 3, toS: 7 });
  });
});
