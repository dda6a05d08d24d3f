// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import type { Incident } from "@/api/types";
import { busyOf, marksOf, shownOf } from "@/pages/incidents/incident";
import { API } from "./mock/answers";
import { LIST } from "./mock/incidents";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const list = `${API}/diagnosis/incidents`;

const section = async () =>
  within((await screen.findByRole("heading", { name: "Incidents" })).closest("section")!);

describe("incidents", () => {
  it("are listed, the newest first, and one opens at its own address", async () => {
    const { history } = renderAt("/diagnostics?from=10.0.0.1");
    const here = await section();
    const rows = within(await here.findByRole("table"))
      .getAllByRole("row")
      .slice(1);
    expect(rows.map((row) => row.textContent)).toEqual([
      expect.stringMatching(/Port without carrier.*wan0 lost its carrier\..*3/),
      expect.stringMatching(/Commit failed.*cut short/),
    ]);
    await userEvent.click(within(rows[0]!).getByRole("link"));
    const detail = within(await here.findByRole("region", { name: "Incident 2" }));
    expect(await detail.findByText(/20 % before, 90 % after, 90 % at most/)).toBeTruthy();
    expect(history.location.search).toContain("incident=2");
    expect(history.location.search).toContain("10.0.0.1");
    expect(within(detail.getByRole("list", { name: "What happened" })).getAllByRole("listitem")).toHaveLength(
      2,
    );
    expect(detail.getByText(/3, last at/)).toBeTruthy();
    await userEvent.click(detail.getByRole("button", { name: "Close" }));
    await waitFor(() => expect(history.location.search).not.toContain("incident"));
  });

  it("show the graphs of an interface or a queue, as it is chosen", async () => {
    renderAt("/diagnostics?incident=2");
    const here = await section();
    expect(
      await here.findByRole("img", { name: /^Upload and download of interface wan0 around/ }),
    ).toBeTruthy();
    expect(here.queryByRole("img", { name: /^Longest wait/ })).toBeNull();
    await userEvent.selectOptions(here.getByLabelText("Figures of"), "Queue acme");
    expect(await here.findByRole("img", { name: /^Longest wait in queue acme/ })).toBeTruthy();
  });

  it("say what will be kept, and since when it is looked, where there are none", async () => {
    router.server.use(http.get(list, () => HttpResponse.json({ ...LIST, items: [] })));
    renderAt("/diagnostics");
    const text = await (await section()).findByText(/Nothing began since .*2026/);
    expect(text.textContent).toContain("the 2 minutes before and after are kept here");
  });

  it("name what cannot be read or written, beside what can", async () => {
    const problems = ["incidents cannot be written to /var/lib/weir: No space left on device"];
    router.server.use(http.get(list, () => HttpResponse.json({ ...LIST, problems })));
    renderAt("/diagnostics");
    const here = await section();
    expect(await here.findByText(/No space left on device\./)).toBeTruthy();
    expect(here.getByText("wan0 lost its carrier.")).toBeTruthy();
  });

  it("say of one that is gone that it cannot be shown", async () => {
    renderAt("/diagnostics?incident=77");
    expect(await (await section()).findByText(/cannot be shown: there is no incident 77/i)).toBeTruthy();
  });

  it("are not known where the router does not say", async () => {
    const problem = { code: "forbidden", title: "Forbidden", detail: "The scope read is needed." };
    router.server.use(
      http.get(list, () =>
        HttpResponse.json(problem, { status: 403, headers: { "Content-Type": "application/problem+json" } }),
      ),
    );
    renderAt("/diagnostics");
    expect(await (await section()).findByText(/What began lately is not known/)).toBeTruthy();
  });
});

describe("an incident's figures", () => {
  const none = { rate_bps: [null, null], drops_ps: [null, null] };
  const incident = {
    start: 100,
    cores: [null, [0.5, 0.25]],
    interfaces: [{ id: "lan0", rx: { rate_bps: [1, 2], drops_ps: [null, 3] }, tx: none }],
    queues: [
      {
        id: "q1",
        name: null,
        upload: { ...none, worst_delay_us: [null, 0] },
        download: { ...none, worst_delay_us: [null, null] },
      },
    ],
    events: [],
  } as unknown as Incident;

  it("are as customers see them, and nothing is made of what was not measured", () => {
    const [lan, queue] = shownOf(incident, () => "lan");
    expect(lan!.data).toEqual({ at: [100, 101], upload: [1, 2], download: [null, null], drops: [null, 3] });
    expect([queue!.label, queue!.waits]).toEqual(["Queue q1", null]);
    expect(shownOf(incident, () => "wan")[0]!.data.download).toEqual([1, 2]);
    expect(busyOf(incident)).toEqual({ before: null, after: 0.5, most: 0.5 });
    expect(busyOf({ ...incident, cores: [null] })).toEqual({ before: null, after: null, most: null });
  });

  it("are marked with commits and with what began", () => {
    const at = "1970-01-01T00:01:40Z";
    const told = (code: string, begins: boolean) => ({
      at,
      code,
      begins,
      subject: "revision 7",
      sentence: "x".repeat(60),
    });
    const events = [told("commit", false), told("port-up", false), told("port-down", true)];
    const marks = marksOf({ ...incident, events } as unknown as Incident);
    expect(marks.map((mark) => mark.at)).toEqual([100, 100]);
    expect(marks.map((mark) => mark.text.length)).toEqual(["revision 7".length, 25]);
  });
});
