// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { whyGapOf } from "@/app/gapReasons";
import { trafficOf } from "@/ports/InterfaceTraffic";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();

describe("the drawer of an interface", () => {
  it("shows its traffic over an hour, and over 30 days when that is asked for", async () => {
    const asked: string[] = [];
    router.server.events.on("request:start", ({ request }) => {
      const url = new URL(request.url);
      if (url.pathname.endsWith("/interfaces/lan0/history")) asked.push(url.searchParams.get("window") ?? "");
    });
    renderAt("/interfaces?edit=lan0");
    const traffic = within(await screen.findByRole("region", { name: "Traffic" }));
    expect(await traffic.findByText("95th percentile")).toBeTruthy();
    await userEvent.click(traffic.getByText("30 d"));
    await waitFor(() => expect(asked).toContain("30d"));
    expect(await traffic.findByText("95th percentile")).toBeTruthy();
    await userEvent.click(traffic.getByText("Figures as a table"));
    expect((await traffic.findAllByText("not measured")).length).toBeGreaterThan(0);
  });

  it("says why it shows none", async () => {
    const { http } = await import("msw");
    const { problem } = await import("./mock/answers");
    router.server.use(
      http.get("*/api/v1/stats/interfaces/:name/history", () =>
        problem(404, "not-found", "no figures of it were ever taken"),
      ),
    );
    renderAt("/interfaces?edit=lan0");
    const traffic = within(await screen.findByRole("region", { name: "Traffic" }));
    expect(await traffic.findByText(/no figures of it were ever taken/i)).toBeTruthy();
    expect(traffic.queryByText("95th percentile")).toBeNull();
  });

  it("puts received and sent where customers see them", () => {
    const way = (rate: number | null) => ({ rate_bps: [rate], drops_ps: [rate === null ? null : 1] });
    const history = { id: "wan0", window: "1h" as const, start: 60, step_s: 60, rx: way(5), tx: way(null) };
    expect(trafficOf(history, "wan")).toEqual({ at: [60], upload: [null], download: [5], drops: [1] });
    expect(trafficOf(history, "lan")).toMatchObject({ upload: [5], download: [null] });
  });
});

describe("a time without measurements", () => {
  const why = whyGapOf({ bootS: 5_000, lostS: 9_000, made: { atS: 1_000, what: "queue" } });
  it.each([
    ["before it was made", 0, 1_000, "before the queue was made"],
    ["around a start", 4_000, 4_990, expect.stringMatching(/^the router started at /)],
    ["that went on long after a start", 4_000, 5_400, null],
    ["since nothing comes", 9_001, 9_500, expect.stringMatching(/^no data since /)],
    ["of which nothing is known", 6_000, 7_000, null],
  ])("%s says so", (_name, from, to, said) => expect(why(from, to)).toEqual(said));
});
