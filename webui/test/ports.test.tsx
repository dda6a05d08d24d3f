// SPDX-License-Identifier: Apache-2.0
import { act, render, screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it, vi } from "vitest";
import type { Interface } from "@/api/types";
import { INTERFACES } from "@/kinds/interface/list";
import { isTrouble, linkOf, linkText, portsOf } from "@/ports/ports";
import { interfaceStats } from "./mock/live";
import { Spark } from "@/ui/Spark";
import { FakeEventSource, HIGH_PX, mockRouter, renderAt } from "./render";

const router = mockRouter(12, HIGH_PX);
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

  it("and every other interface show their last two minutes, and a tick renders nothing but figures", async () => {
    const made = INTERFACES.columns.find((column) => column.id === "type")!;
    const rendered = vi.spyOn(made, "render");
    renderAt("/interfaces");
    const row = (await screen.findByRole("button", { name: "lan0" })).closest<HTMLElement>("[role=row]")!;
    const send = (at: number, rx_bps: number) =>
      act(() => {
        const items = interfaceStats(at).map((item) => ({ ...item, rx_bps, tx_bps: 2 * rx_bps }));
        FakeEventSource.last?.send("interfaces", { at, stale_since: null, stale_reason: null, items });
      });
    await waitFor(() => expect(FakeEventSource.last).not.toBeNull());
    send(AT, 1e6);
    const spark = await within(row).findByRole("img", { name: "Traffic of lan0 in the last two minutes" });
    await within(row).findByText("1.00M");
    const [before, calls] = [spark.innerHTML, rendered.mock.calls.length];
    expect(calls).toBeGreaterThan(0);
    send(AT + 1, 3e6);
    await within(row).findByText("3.00M");
    expect(spark.innerHTML).not.toBe(before);
    expect(rendered.mock.calls.length).toBe(calls);
  });

  it("have no line of zero where nothing was measured", () => {
    const values = [1, 2, null, null, 0, 0];
    const { container } = render(<Spark label="x" upload={values} download={values} span={7} />);
    expect(container.querySelector("path:last-child")?.getAttribute("d")).toBe("M16.0,13H32.0M80.0,13H96.0");
  });
});
