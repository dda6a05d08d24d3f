// SPDX-License-Identifier: Apache-2.0
import { cleanup, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import type { DiagnosisFinding, Findings, System } from "@/api/types";
import { illsOfFindings, illsOfSystem } from "@/app/ills";
import { areaOf, NAV } from "@/app/nav";
import { NAMED } from "@/kinds/names";
import { problem } from "./mock/answers";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();

const finding = (code: string, severity: "error" | "warning" | "notice", doubt: string | null = null) =>
  ({ code, severity, sentence: `${code} is seen`, doubt }) as DiagnosisFinding;
const findings = (...list: DiagnosisFinding[]) =>
  router.server.use(
    http.get("*/api/v1/diagnosis/findings", () =>
      HttpResponse.json({ at: null, findings: list, looked_at: [], not_looked_at: [], trials: [] }),
    ),
  );

const menu = async () => within(await screen.findByRole("navigation", { name: "Main" }));
const openAreas = async () =>
  (await menu()).getAllByRole("button", { expanded: true }).map((line) => line.getAttribute("aria-label"));

describe("the menu", () => {
  it("shows the pages of the open page's area, and of any other its name alone", async () => {
    renderAt("/queues");
    expect(await openAreas()).toEqual(["Shaping"]);
    const lines = (await menu()).getAllByRole("link").map((line) => line.getAttribute("aria-label"));
    const [shaping] = NAV.areas;
    expect(lines).toEqual([...NAV.top, ...shaping!.items].map((item) => item.label));
    await userEvent.setup().keyboard("gr");
    await screen.findByRole("list", { name: "Routing" });
    expect(await openAreas()).toEqual(["Routing"]);
  });

  it("keeps open what was opened, in this browser, until it is folded", async () => {
    const user = userEvent.setup();
    renderAt("/queues");
    await user.click((await menu()).getByRole("button", { name: "System" }));
    await user.click((await menu()).getByRole("button", { name: "Shaping" }));
    expect(await openAreas()).toEqual(["System"]);
    cleanup();
    renderAt("/queues");
    expect(await openAreas()).toEqual(["Shaping", "System"]);
    await user.click((await menu()).getByRole("button", { name: "System" }));
    cleanup();
    renderAt("/queues");
    expect(await openAreas()).toEqual(["Shaping"]);
  });

  it("is walked through by arrow keys", async () => {
    const user = userEvent.setup();
    renderAt("/queues");
    const network = (await menu()).getByRole("button", { name: "Network" });
    network.focus();
    await user.keyboard("{ArrowRight}{ArrowDown}");
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Interfaces");
    await user.keyboard("{ArrowLeft}");
    expect(document.activeElement).toBe(network);
    await user.keyboard("{ArrowLeft}");
    expect(network.getAttribute("aria-expanded")).toBe("false");
    await user.keyboard("{Enter}");
    expect(network.getAttribute("aria-expanded")).toBe("true");
    await user.keyboard("{Home}");
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Overview");
    await user.keyboard("{End}{ArrowDown}");
    expect(document.activeElement?.getAttribute("aria-label")).toBe("System");
  });

  it("says at a folded area what is ill in it, and at the page once the area is open", async () => {
    findings(finding("uplink-down", "warning"), finding("control-plane-starved", "error"));
    renderAt("/queues");
    const line = await (await menu()).findByRole("button", { name: "System: 1 error" });
    expect(line.title).toBe("control-plane-starved is seen.");
    const area = areaOf("/uplinks")!;
    await userEvent.setup().click((await menu()).getByRole("button", { name: `${area}: 1 warning` }));
    expect((await menu()).getByRole("link", { name: "Uplinks: 1 warning" })).toBeTruthy();
    expect((await menu()).getByRole("button", { name: area })).toBeTruthy();
    expect((await menu()).getByRole("button", { name: "Firewall" }).title).toBe("");
  });

  it("marks nothing that is not known: no answer, a doubt, and a notice", async () => {
    router.server.use(
      http.get("*/api/v1/diagnosis/findings", () => problem(503, "agent-unavailable", "no answer")),
    );
    renderAt("/queues");
    expect((await menu()).getByRole("button", { name: "System" })).toBeTruthy();
    const said = [finding("backlog-full", "warning", "no answer"), finding("second-lookup", "notice")];
    expect(illsOfFindings({ findings: said } as unknown as Findings)).toEqual([]);
    const away = { checks: [], agent: { connected: false }, drift: [{ part: "ports", repaired: false }] };
    expect(illsOfSystem(away as unknown as System)).toEqual([]);
  });

  it("knows what each check is about", () => {
    const checks = [
      { id: "shapers", state: "warning", message: "lan0: policed." },
      { id: "store", state: "failed", message: "Damaged." },
      { id: "agent", state: "ok", message: "It answers." },
    ];
    const system = { checks, agent: { connected: true }, drift: [] } as unknown as System;
    expect(illsOfSystem(system).map((ill) => [ill.path, ill.isError])).toEqual([
      ["/interfaces", false],
      ["/diagnostics", true],
    ]);
  });

  it("knows the area of every page, and of what lies below it", () => {
    for (const kind of NAMED.values()) expect(areaOf(`/${kind.page}`)).toBe(kind.area);
    expect(areaOf("/queues/q1")).toBe("Shaping");
    expect(areaOf("/queue-types")).toBe("Shaping");
    expect(areaOf("/")).toBeNull();
    expect(areaOf("/account")).toBeNull();
  });
});
