// SPDX-License-Identifier: Apache-2.0
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const URL_OF_DROPS = "*/api/v1/diagnosis/drops";

const section = async () =>
  (await screen.findByRole("heading", { name: "Dropped packets" })).closest("section")!;

describe("dropped packets", () => {
  it("are listed by owner, with the reason and how many", async () => {
    renderAt("/diagnostics");
    const here = within(await section());
    const row = (await here.findByText("over its limit")).closest("tr")!;
    expect(row.textContent).toMatch(/queue.q1.*upload.*100.*80/);
    expect(within(row).getByRole("link", { name: "q1" }).getAttribute("href")).toBe("/queues/q1");
    expect(here.getByText(/125 packets dropped/)).toBeTruthy();
    expect(here.getByText(/Counted by nobody: packets for a neighbor/)).toBeTruthy();
  });

  it("are asked for again for another time", async () => {
    const asked: (string | null)[] = [];
    router.server.use(
      http.get(URL_OF_DROPS, ({ request }) => {
        asked.push(new URL(request.url).searchParams.get("minutes"));
        return undefined;
      }),
    );
    renderAt("/diagnostics");
    const here = within(await section());
    await here.findByText("over its limit");
    await userEvent.click(here.getByText("24 h"));
    await here.findByText("over its limit");
    expect(asked).toEqual(["60", "1440"]);
  });

  it("are not known where the router does not say", async () => {
    const problem = { code: "starting", title: "Unavailable", detail: "The counters were read once so far." };
    router.server.use(
      http.get(URL_OF_DROPS, () =>
        HttpResponse.json(problem, { status: 503, headers: { "Content-Type": "application/problem+json" } }),
      ),
    );
    renderAt("/diagnostics");
    expect(await within(await section()).findByText(/What was dropped is not known/)).toBeTruthy();
  });

  it("say which counters could not be read", async () => {
    router.server.use(
      http.get(URL_OF_DROPS, () =>
        HttpResponse.json({
          since: "2026-11-24T11:00:00Z",
          until: "2026-11-24T12:00:00Z",
          packets: 0,
          items: [],
          rest_packets: 0,
          unseen: [{ id: "rules", reason: "nftables cannot be asked" }],
          not_counted: [],
        }),
      ),
    );
    renderAt("/diagnostics");
    expect(await within(await section()).findByText(/Not known of rules: nftables cannot/)).toBeTruthy();
  });
});
