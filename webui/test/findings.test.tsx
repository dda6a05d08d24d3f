// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { delay, http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import type { Findings } from "@/api/types";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const API = "*/api/v1";
const SICK: Findings = {
  at: "2026-11-24T12:00:00Z",
  period_s: 5,
  cpu_ms_per_sample: 2,
  findings: [
    {
      code: "one-core-works",
      severity: "warning",
      subject: "core 0",
      title: "One core does the work of all",
      sentence: "core 0 spends 95 % of its time on packets.",
      since: "2026-11-24T11:59:00Z",
      seen: "2026-11-24T12:00:00Z",
      doubt: null,
      evidence: "E2",
      numbers: [
        {
          name: "softirq_share",
          value: 0.95,
          threshold: 0.8,
          unit: "share",
          shown: "95 %",
          threshold_shown: "80 %",
        },
      ],
      remedies: [
        {
          id: "threaded-napi",
          text: "Use threads.",
          cost: "Forwarding.",
          setting: "threaded-napi",
          value: "1",
        },
        {
          id: "spread",
          text: "Spread the queues.",
          cost: null,
          setting: null,
          value: null,
        },
      ],
    },
  ],
  looked_at: [],
  not_looked_at: [],
  trials: [],
};

const section = async () => (await screen.findByRole("heading", { name: "Findings" })).closest("section")!;

describe("findings on the diagnostics page", () => {
  it("says what was looked at, and why something was not", async () => {
    renderAt("/diagnostics");
    await screen.findByText("Nothing was found. This was looked at:");
    expect(screen.getByText("each core's packets").tagName).toBe("LI");
    expect(screen.getByText(/how long softirqs wait, because the kernel refuses the probe/)).toBeTruthy();
  });

  it("shows what was measured although nothing is wrong", async () => {
    const look = { id: "route_lookups", what: "a lookup of a route", figure: "65 ns for one destination" };
    router.server.use(
      http.get("*/api/v1/diagnosis/findings", () =>
        HttpResponse.json({ ...SICK, findings: [], looked_at: [look] }),
      ),
    );
    renderAt("/diagnostics");
    expect(await screen.findByText("a lookup of a route: 65 ns for one destination")).toBeTruthy();
  });

  it("shows numbers beside thresholds, and applies what is a setting", async () => {
    const sent: unknown[] = [];
    router.server.use(
      http.get(`${API}/diagnosis/findings`, () => HttpResponse.json(SICK)),
      http.post(`${API}/diagnosis/apply`, async ({ request }) => {
        sent.push(await request.json());
        return HttpResponse.json(
          { status: 409, title: "Conflict", code: "x", detail: "it is set already" },
          {
            status: 409,
            headers: { "Content-Type": "application/problem+json" },
          },
        );
      }),
    );
    renderAt("/diagnostics");
    const findings = within(await section());
    await findings.findByText(/core 0 spends 95 % of its time/);
    expect(findings.getByText("softirq_share").closest("li")!.textContent).toBe(
      "softirq_share 95 % (threshold 80 %)",
    );
    expect(findings.getAllByRole("button")).toHaveLength(1);
    await userEvent.setup().click(findings.getByRole("button", { name: /Apply threaded-napi = 1/ }));
    await waitFor(() =>
      expect(sent).toEqual([
        { code: "one-core-works", subject: "core 0", remedy: "threaded-napi", confirm_within_s: 300 },
      ]),
    );
    await findings.findByRole("alert");
  });

  it("does not say that nothing was found while the router does not answer", async () => {
    router.server.use(
      http.get(`${API}/diagnosis/findings`, () =>
        HttpResponse.json(
          { status: 503, title: "Unavailable", code: "agent", detail: "no agent" },
          {
            status: 503,
            headers: { "Content-Type": "application/problem+json" },
          },
        ),
      ),
    );
    renderAt("/diagnostics");
    await screen.findByText(/What ails the router is not known/);
    expect(screen.queryByText(/Nothing was found/)).toBeNull();
  });

  it("goes on saying that nothing is known while it asks again", async () => {
    let [isTold, asksAgain] = [false, false];
    router.server.use(
      http.get(`${API}/diagnosis/findings`, async () => {
        asksAgain = isTold;
        if (asksAgain) await delay("infinite");
        return HttpResponse.json(
          { status: 503, title: "Unavailable", code: "agent-unavailable", detail: "The agent is away." },
          { status: 503, headers: { "Content-Type": "application/problem+json" } },
        );
      }),
    );
    renderAt("/diagnostics");
    await screen.findByText(/^What ails the router is not known: the agent is away/);
    isTold = true;
    await waitFor(() => expect(asksAgain).toBe(true));
    expect(screen.getByText(/^What ails the router is not known/)).toBeTruthy();
  });
});
