// SPDX-License-Identifier: Apache-2.0
import { act, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { Interface } from "@/api/types";
import { isTrouble, linkOf, linkText, portsOf } from "@/ports/ports";
import { interfaceStats } from "./mock/live";
import { FakeEventSource, mockRouter, renderAt } from "./render";

const router = mockRouter();
const AT = 1_767_362_531;
const port = (id: string, change: object = {}, state: object | null = {}): Interface =>
  ({
    id,
    type: "ethernet",
    role: "none",
    disabled: false,
    ...change,
    state: state && { kind: "physical", up: true, speed_bps: 1e9, ...state },
  }) as Interface;

describe("the ports of the box", () => {
  it("are its sockets in their order, and none that is made by configuration", () => {
    const items = [
      port("eth10"),
      port("eth2"),
      port("lo"),
      port("br0", {}, { kind: "bridge" }),
      port("acme", { type: "vlan" }),
      port("gone", {}, null),
    ];
    expect(portsOf(items).map((item) => item.id)).toEqual(["eth2", "eth10", "gone"]);
    expect(portsOf(Array.from({ length: 24 }, (_, n) => port(`eth${n}`)))).toHaveLength(24);
  });

  it("say their link, and their speed only where it is known", () => {
    const links = [
      linkOf(port("a"), true),
      linkOf(port("a", {}, { up: false }), true),
      linkOf(port("a", { disabled: true }), true),
      linkOf(port("a", {}, null), true),
      linkOf(port("a", {}, null), false),
      linkOf(port("a"), false),
    ];
    expect(links).toEqual(["up", "down", "off", "missing", "unknown", "unknown"]);
    expect([isTrouble(port("a", { role: "wan" }), "down"), isTrouble(port("a"), "down")]).toEqual([
      true,
      false,
    ]);
    expect([linkText("up", 1e10), linkText("up", null), linkText("down", 1e9)]).toEqual([
      "10G",
      "up",
      "down",
    ]);
  });

  it.each(["/", "/interfaces"])(
    "are drawn at %s with role and live rates, and lead to the port",
    async (at) => {
      renderAt(at);
      const face = within(await screen.findByRole("list", { name: "Ports" }));
      const lan = face.getByRole("link", { name: /^lan0/ });
      expect(lan.getAttribute("href")).toBe("/interfaces?edit=lan0");
      expect(lan.textContent).toContain("LAN");
      expect(lan.textContent).toContain("10G");
      await waitFor(() => expect(FakeEventSource.last).not.toBeNull());
      const items = interfaceStats(AT).map((item) => ({ ...item, rx_bps: 1_230_000, tx_bps: 4_560_000 }));
      act(() =>
        FakeEventSource.last?.send("interfaces", { at: AT, stale_since: null, stale_reason: null, items }),
      );
      await waitFor(() => expect(lan.textContent).toMatch(/1\.23M.*4\.56M/));
      expect(face.getByRole("link", { name: /^wan0/ }).textContent).toMatch(/4\.56M.*1\.23M/);
      expect(router.state.staged.size).toBe(0);
    },
  );
});
