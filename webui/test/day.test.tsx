// SPDX-License-Identifier: Apache-2.0
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { eventsOf, groupsOf } from "@/app/marks";
import { FIGURES, linesOf } from "@/pages/day/lines";
import { API } from "./mock/answers";
import { FIGURES_OF_A_DAY as DAY, MARKS_OF_A_DAY as MARKS } from "./mock/day";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();

const section = async () =>
  within((await screen.findByRole("heading", { name: "The last 24 hours" })).closest("section")!);

describe("the last 24 hours", () => {
  it("have a line for each figure, with what it was, and none where nothing was measured", async () => {
    renderAt("/diagnostics");
    const here = await section();
    expect(await here.findByRole("img", { name: "Cores in the last 24 hours" })).toBeTruthy();
    expect(here.getByText(/^\d+ % now, \d+ % on average, 60 % at most$/)).toBeTruthy();
    expect(here.getByText("40 % now, 40 % on average, 48 % at most")).toBeTruthy();
    expect(here.getByText(/^[\d,]+ now, [\d,]+ on average, 60 at most$/)).toBeTruthy();
    expect(here.getByText("not measured: The tables of neighbors are the first namespace's.")).toBeTruthy();
    expect(here.queryByRole("img", { name: /^Neighbors/ })).toBeNull();
    expect(here.getAllByRole("img", { name: /in the last 24 hours$/ })).toHaveLength(4);
  });

  it("are asked for by the names of what is shown, as far as a day goes", async () => {
    const asked: URLSearchParams[] = [];
    router.server.use(
      http.get(`${API}/diagnosis/figures`, ({ request }) => {
        asked.push(new URL(request.url).searchParams);
        return undefined;
      }),
    );
    renderAt("/diagnostics");
    await (await section()).findByRole("img", { name: /^Memory/ });
    expect(asked[0]?.get("minutes")).toBe("1440");
    expect(asked[0]?.get("figures")).toBe(FIGURES.join(","));
  });

  it("lead from a commit to the revision, and from an incident to its seconds", async () => {
    const { history } = renderAt("/diagnostics");
    const marks = within(await (await section()).findByRole("list", { name: /^Commits and incidents/ }));
    const commit = await marks.findByRole("link", { name: /Revision 7 was committed by admin/ });
    expect(commit.getAttribute("href")).toBe("/history?from=6&to=7");
    await userEvent.click(marks.getByRole("button", { name: /^2 events from / }));
    await userEvent.click(await screen.findByRole("menuitem", { name: /A commit by admin failed/ }));
    expect(await screen.findByRole("region", { name: "Incident 1" })).toBeTruthy();
    expect(history.location.search).toContain("incident=1");
  });

  it("name what cannot be kept, beside what can be shown", async () => {
    const problems = ["figures cannot be kept in /data/f.db: database or disk is full"];
    router.server.use(http.get(`${API}/diagnosis/figures`, () => HttpResponse.json({ ...DAY, problems })));
    renderAt("/diagnostics");
    const here = await section();
    expect(await here.findByText(/database or disk is full\./)).toBeTruthy();
    expect(here.getByRole("heading", { name: "Cores" })).toBeTruthy();
  });

  it("are not known where the router does not say", async () => {
    const problem = { code: "forbidden", title: "Forbidden", detail: "The scope read is needed." };
    router.server.use(
      http.get(`${API}/diagnosis/figures`, () =>
        HttpResponse.json(problem, { status: 403, headers: { "Content-Type": "application/problem+json" } }),
      ),
    );
    renderAt("/diagnostics");
    expect(await (await section()).findByText(/What the router did is not known/)).toBeTruthy();
  });
});

describe("a day's lines", () => {
  const row = (figure: string, values: (number | null)[]) => ({ figure, values, most: null, adds_up: false });
  const answer = (...items: ReturnType<typeof row>[]) =>
    linesOf({ ...DAY, start: 60, minutes: 2, items, unseen: [] } as unknown as typeof DAY);

  it("add up both families of neighbors, and make nothing of what was not measured", () => {
    const [cores, , , neighbors] = answer(row("neighbours-v4", [3, 4]), row("neighbours-v6", [null, 2]));
    expect(neighbors!.data).toEqual({ at: [60, 120], upload: [null, null], download: [null, 6] });
    expect([cores!.isMeasured, cores!.text]).toEqual([false, "not measured"]);
  });

  it("say that the last minute was not measured", () => {
    expect(answer(row("cores", [0.5, null]))[0]!.text).toBe(
      "not measured now, 50 % on average, 50 % at most",
    );
  });
});

describe("marks", () => {
  const first = Date.parse(MARKS.items[0]!.at) / 1000;

  it("that are close together are one, and those of another time are none", () => {
    const groups = groupsOf(MARKS.items, DAY.start, DAY.start + 86_400);
    expect(groups.map(({ place, marks }) => [place, marks.length])).toEqual([
      [0.25, 1],
      [expect.closeTo(22 / 24), 2],
    ]);
    expect(groupsOf(MARKS.items, first - 60, first + 60)).toHaveLength(1);
    expect(groupsOf(MARKS.items, 0, 60)).toEqual([]);
  });

  it("are named in a few words in a graph", () => {
    expect(eventsOf(MARKS.items).map(({ text }) => text)).toEqual([
      "revision 7",
      "A commit by admin failed…",
      "The configuration was ro…",
    ]);
  });
});
