// SPDX-License-Identifier: Apache-2.0
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { flowOf, type Carried } from "@/pages/traffic/flow";
import { problem } from "./mock/answers";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();

const tower: Carried = { id: "tower", name: "Tower", parent: null, rateBps: 100 };
const customer = (id: string, rateBps: number, parent: string | null = "tower"): Carried => ({
  id,
  name: id.toUpperCase(),
  parent,
  rateBps,
});

describe("the flow of queues", () => {
  it("divides what a parent carries among its children, the largest first, and calls the rest others", () => {
    const flow = flowOf([customer("a", 20), tower, customer("b", 50), customer("c", 0.1)], 400);
    const shown = flow?.nodes.map(({ name, depth, rateBps }) => [name, depth, Math.round(rateBps)]);
    expect(shown).toEqual([
      ["All queues", 0, 100],
      ["Tower", 1, 100],
      ["B", 2, 50],
      ["A", 2, 20],
      ["others", 2, 30],
    ]);
    expect(flow?.nodes.map((node) => Math.round(node.height))).toEqual([400, 400, 200, 80, 120]);
  });

  it("draws nothing over something else, and every band as thick as what it leads to", () => {
    const items = Array.from({ length: 9 }, (_, tens) => [
      customer(`p${tens}`, 90 - tens, null),
      ...Array.from({ length: 8 }, (__, one) => customer(`p${tens}c${one}`, 10 - one, `p${tens}`)),
    ]).flat();
    const flow = flowOf(items, 400);
    expect(flow).not.toBeNull();
    for (let depth = 0; depth < (flow?.depth ?? 0); depth++) {
      const column = (flow?.nodes ?? []).filter((node) => node.depth === depth);
      const tops = column.map((node) => node.top);
      column.slice(1).forEach((node, at) => {
        expect(node.top).toBeGreaterThanOrEqual((tops[at] ?? 0) + (column[at]?.height ?? 0));
      });
      for (const node of column)
        expect(node.top + node.height).toBeLessThanOrEqual((flow?.height ?? 0) + 0.01);
    }
    for (const link of flow?.links ?? [])
      expect(link.height).toBe(flow?.nodes.find((node) => node.key === link.key)?.height);
  });

  it("has a queue whose parent was not measured beside the others, and nothing where nothing flows", () => {
    const flow = flowOf([customer("a", 5, "gone")], 400);
    expect(flow?.nodes.map((node) => node.name)).toEqual(["All queues", "A"]);
    expect(flowOf([customer("a", 0)], 400)).toBeNull();
    expect(flowOf([], 400)).toBeNull();
  });
});

describe("the page of live traffic", () => {
  it("shows the flow and the busiest customers, and the other direction from its address", async () => {
    renderAt("/traffic");
    const flow = await screen.findByRole("list", { name: "Flow of the download by queue" });
    expect(within(flow).getByText("All queues")).toBeTruthy();
    const table = screen.getByRole("table", { name: "Busiest customers" });
    const [first] = within(table).getAllByRole("link");
    expect(first?.getAttribute("href")).toMatch(/^\/queues\//);
    await userEvent.click(screen.getByText("Upload", { selector: "label *" }));
    expect(await screen.findByRole("list", { name: "Flow of the upload by queue" })).toBeTruthy();
  });

  it("does not say that nothing flows while the router does not answer", async () => {
    router.server.use(
      http.get("*/api/v1/stats/queues", () => problem(503, "agent-unavailable", "the agent does not answer")),
    );
    renderAt("/traffic");
    expect(await screen.findByText(/^Not known\. /)).toBeTruthy();
    expect(screen.queryByText(/^No download/)).toBeNull();
  });

  it("says what it does not show where no queue carries anything", async () => {
    router.server.use(
      http.get("*/api/v1/stats/queues", () =>
        HttpResponse.json({ at: 1_700_000_000, stale_since: null, stale_reason: null, items: [] }),
      ),
    );
    renderAt("/traffic");
    expect(await screen.findByText("No download in any queue")).toBeTruthy();
    expect(screen.getByText(/in no queue is not shown here/)).toBeTruthy();
  });
});
