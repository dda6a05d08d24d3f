// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import type { ImportReport, System } from "@/api/types";
import { countText, plural, saidOnce } from "@/ui/format";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();

describe("numbers", () => {
  it("are grouped as the router's own messages group them", () => {
    expect([countText(999), countText(10_026), countText(1_234_567)]).toEqual(["999", "10,026", "1,234,567"]);
    expect(plural(65_536, "entry", "entries")).toBe("65,536 entries");
  });
});

describe("an import", () => {
  it("says for each kind how many objects there are", async () => {
    renderAt("/import?report=rep1");
    const kinds = within(await screen.findByRole("list", { name: "Objects by kind" }));
    expect(kinds.getAllByRole("listitem").map((item) => item.textContent)).toEqual([
      "1 interface 1 changed",
      "2 queues 2 added",
    ]);
  });
});

describe("one of a kind", () => {
  it("is counted in the singular by an import", async () => {
    const answer = await fetch(new URL("/api/v1/import/reports/rep1", "http://localhost"));
    const report = (await answer.json()) as ImportReport;
    const one = { ...report, total_lines: 1, summary: { imported: 0, changed: 0, warning: 0, left_out: 1 } };
    router.server.use(http.get("*/api/v1/import/reports/rep1", () => HttpResponse.json(one)));
    renderAt("/import?report=rep1");
    const fates = within(await screen.findByRole("group", { name: "Filter by fate" }));
    expect(fates.getAllByRole("button").map((button) => button.textContent)).toEqual([
      "1 statement",
      "0 imported",
      "0 changed",
      "0 warnings",
      "1 left out",
    ]);
    screen.getByRole("button", { name: "Commit this import" }).click();
    expect((await screen.findByRole("dialog")).textContent).toContain("1 statement is left out.");
  });

  it("is counted in the singular below a queue", async () => {
    const parent = [...router.state.queues.values()].find((queue) => queue.parent === null)!;
    parent.child_count = 1;
    renderAt(`/queues/${parent.id}`);
    expect(await screen.findByRole("link", { name: "1 queue in it" })).toBeTruthy();
  });
});

describe("a remark and its reason", () => {
  it("are not the same words twice", async () => {
    const { server } = router;
    const answer = await fetch(new URL("/api/v1/system", "http://localhost"));
    const system = (await answer.json()) as System;
    const message =
      "The agent does not answer: the agent does not answer on /run/weir/agent.sock: connection refused. Forwarding and shaping go on.";
    server.use(
      http.get("*/api/v1/system", () =>
        HttpResponse.json({
          ...system,
          health: "failed",
          checks: [{ id: "agent", state: "failed", message }],
        }),
      ),
    );
    renderAt("/");
    await waitFor(() =>
      expect(screen.getByRole("main").textContent).toContain(
        "The agent does not answer on /run/weir/agent.sock: connection refused.",
      ),
    );
    expect(screen.getByRole("main").textContent).not.toMatch(/does not answer: /i);
  });

  it("stay as they are where the reason says more", () => {
    expect(saidOnce("lan0: no pacing, because fq is not available: no fq")).toBe(
      "lan0: no pacing, because fq is not available: no fq",
    );
  });
});

describe("the tab", () => {
  it("is named after the page and the router", async () => {
    const { unmount } = renderAt("/about");
    await waitFor(() => expect(document.title).toBe("About · weir-mock"));
    unmount();
    renderAt("/queues");
    await waitFor(() => expect(document.title).toBe("Queues · weir-mock"));
  });
});
