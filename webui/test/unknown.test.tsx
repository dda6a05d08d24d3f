// SPDX-License-Identifier: Apache-2.0
import { act, screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { live } from "@/api/live";
import { lampOf } from "@/app/Lamp";
import { dropsOf } from "@/pages/queue/drops";
import type { QueueHistory, System } from "@/api/types";
import { problem } from "./mock/answers";
import { statsOf } from "./mock/live";
import { mockQueue } from "./mock/state";
import { HIGH_PX, mockRouter, renderAt } from "./render";

const router = mockRouter(12, HIGH_PX);
const API = "*/api/v1";
const NOTHING_THERE = /No queue is|No traffic/;

/** The router as it tells of itself, with something changed. */
async function systemWith(change: (system: System) => System): Promise<void> {
  const answer = (await (await fetch(`${window.location.origin}/api/v1/system`)).json()) as System;
  router.server.use(http.get(`${API}/system`, () => HttpResponse.json(change(answer))));
}

const top = (answer: object) =>
  router.server.use(
    http.get(`${API}/stats/queues`, () =>
      HttpResponse.json({ at: 1_000, stale_since: null, stale_reason: null, items: [], ...answer }),
    ),
  );

describe("the overview, when nothing is known of the queues", () => {
  it("repeats why, and claims nothing", async () => {
    top({ stale_since: 1_000, stale_reason: "0 of 12 queues were measured so far." });
    renderAt("/");
    await waitFor(() =>
      expect(screen.getAllByText("No measurements yet. 0 of 12 queues were measured so far.")).toHaveLength(
        3,
      ),
    );
    expect(screen.queryByText(NOTHING_THERE)).toBeNull();
  });

  it("claims nothing while the agent is away", async () => {
    top({});
    await systemWith((system) => ({ ...system, agent: { ...system.agent, connected: false } }));
    renderAt("/");
    await waitFor(() => expect(screen.getAllByText("Not known: the agent does not answer.")).toHaveLength(3));
    expect(screen.queryByText(NOTHING_THERE)).toBeNull();
  });

  it("claims nothing where the busiest queues are ones that are gone", async () => {
    top({ items: [statsOf(mockQueue("gone"), 0)] });
    renderAt("/");
    await waitFor(() => expect(screen.getAllByText(/The queues have just changed/)).toHaveLength(3));
    expect(screen.queryByText(NOTHING_THERE)).toBeNull();
  });

  it("claims nothing once the router stopped answering", async () => {
    top({});
    renderAt("/");
    expect(await screen.findByText("No queue is losing packets.")).toBeInstanceOf(HTMLElement);
    act(() => live.freshness.set({ state: "stale", since: 1_000, reason: "reconnecting", silent: true }));
    expect(screen.getAllByText("Not known. The router does not answer.")).toHaveLength(3);
    expect(screen.queryByText(NOTHING_THERE)).toBeNull();
  });

  it("says why where the question itself fails", async () => {
    router.server.use(http.get(`${API}/stats/queues`, () => problem(403, "forbidden", "it is not for you")));
    renderAt("/");
    await waitFor(() => expect(screen.getAllByText("Not known. It is not for you.")).toHaveLength(3));
    expect(screen.queryByText(NOTHING_THERE)).toBeNull();
  });

  it("says so where it is known", async () => {
    top({});
    renderAt("/");
    expect(await screen.findByText("No traffic in any queue.")).toBeInstanceOf(HTMLElement);
  });
});

describe("other pages without an agent", () => {
  const away = (system: System): System => ({
    ...system,
    agent: { ...system.agent, connected: false },
    shapers: [],
  });

  it("do not call interfaces missing of which nobody told anything", async () => {
    await systemWith(away);
    router.server.use(
      http.get(`${API}/interfaces`, () => {
        const item = {
          id: "lan9",
          role: "lan",
          configured: true,
          disabled: false,
          addresses: [],
          addressing: "static",
          description: "",
          mtu: null,
          vlan: null,
          vrf: null,
          vrf_table: null,
          domain: 0,
          etag: "r1",
          state: null,
          warnings: [],
          shaper: "auto",
          fast_path: "auto",
          unknown: "allow",
          reverse_path: "off",
          overhead_bytes: 0,
        };
        return HttpResponse.json({ items: [item], next_cursor: null, total: 1 });
      }),
    );
    renderAt("/interfaces");
    const row = (await screen.findByRole("button", { name: "lan9" })).closest<HTMLElement>("[role=row]")!;
    await waitFor(() => expect(within(row).getByText("unknown")).toBeInstanceOf(HTMLElement));
    expect(row.textContent).not.toContain("missing");
    expect(row.textContent).not.toContain("off");
  });

  it("do not say that nothing was counted before anything was measured", async () => {
    renderAt("/diagnostics");
    expect(await screen.findByText("No measurements yet.")).toBeInstanceOf(HTMLElement);
    expect(screen.queryByText("None was counted.")).toBeNull();
  });

  it("take back what they said once the router stopped answering", async () => {
    const silence = () =>
      act(() => live.freshness.set({ state: "stale", since: 1_000, reason: "reconnecting", silent: true }));
    const { unmount } = renderAt("/diagnostics");
    expect(await screen.findByText("none: the kernel holds what was committed")).toBeInstanceOf(HTMLElement);
    silence();
    expect(screen.queryByText("none: the kernel holds what was committed")).toBeNull();
    expect(screen.getByText(/What follows is the last answer/)).toBeInstanceOf(HTMLElement);
    unmount();
    renderAt("/interfaces");
    const row = (await screen.findByRole("button", { name: "lan0" })).closest<HTMLElement>("[role=row]")!;
    silence();
    await waitFor(() => expect(within(row).getByText("unknown")).toBeInstanceOf(HTMLElement));
    const face = screen.getByRole("list", { name: "Ports" });
    expect(face.textContent).toContain("unknown");
    expect(face.textContent).not.toMatch(/up|Gbit/);
  });

  it("have a lamp that does not call it good", async () => {
    await systemWith(away);
    const answer = (await (await fetch(`${window.location.origin}/api/v1/system`)).json()) as System;
    expect(lampOf(answer, false).severity).toBe("error");
  });
});

describe("what a queue dropped", () => {
  const history = (upload: (number | null)[], download = upload): QueueHistory => {
    const way = (drops: (number | null)[]) => ({
      rate_bps: drops,
      drops_ps: drops,
      early_drops_ps: drops.map((value) => value && 0),
      ancestor_drops_ps: drops.map((value) => value && 0),
      marks_ps: drops,
      worst_delay_us: drops,
      round_trip_us: null,
    });
    return {
      id: "q1",
      window: "1h",
      start: 600,
      step_s: 60,
      upload: way(upload),
      download: way(download),
      delay_reason: null,
      limit_bps: { upload: 0, download: 0 },
    };
  };
  const shown = async (answer: QueueHistory): Promise<string> => {
    router.server.use(http.get(`${API}/stats/queues/:id/history`, () => HttpResponse.json(answer)));
    renderAt(`/queues/${[...router.state.queues.keys()][0] ?? ""}?window=1h`);
    return (await screen.findByTestId("drop-reasons")).textContent;
  };

  it("is not nothing where nothing was measured", async () => {
    expect(await shown(history([null, null, null]))).toBe("No measurements of this time yet.");
  });

  it("is said of the time that was measured only", async () => {
    expect(await shown(history([null, 0, 0]))).toMatch(
      /^Nothing was dropped in the 2 min measured until .*Nothing is known of the other 1 min\.$/,
    );
  });

  it("counts a bucket as measured where one direction was", () => {
    expect(dropsOf(history([null, null, 1], [null, 0, null]))).toMatchObject({
      packets: 60,
      measuredS: 120,
      missingS: 60,
      untilS: 780,
    });
  });
});
