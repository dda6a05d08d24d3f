// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const staged = (id: string) => router.state.staged.get(`interface/${id}`)?.new;

const make = async (user: ReturnType<typeof userEvent.setup>, what: string) => {
  await user.click(screen.getByRole("button", { name: "New interface" }));
  await user.click(await screen.findByRole("menuitem", { name: new RegExp(`^${what}`) }));
};

describe("a VLAN", () => {
  it("that was staged leaves an empty form without errors, and with an example that looks like one", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=new");
    await user.click(await screen.findByRole("button", { name: "Stage the change" }));
    const name = () => screen.getByRole<HTMLInputElement>("textbox", { name: /^Name/ });
    await waitFor(() => expect(name().getAttribute("aria-invalid")).toBe("true"));
    await user.type(name(), "shop");
    await user.type(screen.getByRole("textbox", { name: /^VLAN id/ }), "7");
    await user.selectOptions(screen.getByRole("combobox", { name: "On" }), "lan0");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() => expect(router.state.staged.has("interface/shop")).toBe(true));
    await make(user, "VLAN");
    await screen.findByRole("textbox", { name: /^VLAN id/ });
    expect(name().value).toBe("");
    expect(name().getAttribute("aria-invalid")).not.toBe("true");
    expect(name().placeholder).toMatch(/^such as (lan0|wan0)\./);
  });

  it("is made by name, parent and tag", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=new");
    await user.type(await screen.findByRole("textbox", { name: /^Name/ }), "lan0.7");
    const stage = screen.getByRole("button", { name: "Stage the change" });
    await user.click(stage);
    expect(await screen.findByText("A number from 1 to 4094.")).toBeTruthy();
    await user.selectOptions(screen.getByRole("combobox", { name: "On" }), "lan0");
    await user.type(screen.getByRole("textbox", { name: /^VLAN id/ }), "7");
    await user.click(stage);
    await waitFor(() =>
      expect(staged("lan0.7")).toMatchObject({
        role: "lan",
        vlan: { parent: "lan0", id: 7, protocol: "802.1Q" },
      }),
    );
    expect(await screen.findByText("not made yet")).toBeTruthy();
  });

  it("does not take the name of an interface that is there", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=new");
    await user.type(await screen.findByRole("textbox", { name: /^Name/ }), "wan0");
    await user.selectOptions(screen.getByRole("combobox", { name: "On" }), "lan0");
    await user.type(screen.getByRole("textbox", { name: /^VLAN id/ }), "7");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    expect(await screen.findByText("There is an interface of this name.")).toBeTruthy();
    expect(staged("wan0")).toBeUndefined();
  });

  it("without its port says what it waits for", async () => {
    renderAt("/interfaces");
    expect(
      await screen.findByText("VLAN acme waits for lan9, which this router does not have now"),
    ).toBeTruthy();
    const row = screen.getByRole("button", { name: "acme" }).closest("tr")!;
    expect(within(row).getByText("✕ missing")).toBeTruthy();
    expect(row.textContent).toContain("VLAN 100 on lan9");
  });

  it("keeps its tag when something else is changed", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=acme");
    await user.type(await screen.findByRole("textbox", { name: "Description" }), " of town");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("acme")).toMatchObject({
        description: "customers of town",
        vlan: { parent: "lan9", id: 100, protocol: "802.1ad" },
      }),
    );
  });
});

describe("a VRF", () => {
  it("is made by name, by its key, and says its table", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces");
    const row = (await screen.findByRole("button", { name: "blue" })).closest("tr")!;
    expect(row.textContent).toContain("VRF table 26284");
    await user.keyboard("v");
    await user.type(await screen.findByRole("textbox", { name: /^Name/ }), "green");
    await user.type(screen.getByRole("textbox", { name: "Routing table" }), "70000");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    expect(await screen.findByText("A number from 1 to 65535, or nothing.")).toBeTruthy();
    await user.clear(screen.getByRole("textbox", { name: "Routing table" }));
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("green")).toMatchObject({ role: "none", vlan: null, vrf: null, vrf_table: 0 }),
    );
  });

  it("is chosen for an interface and for a route", async () => {
    const user = userEvent.setup();
    const { unmount } = renderAt("/interfaces?edit=lan0");
    await user.selectOptions(await screen.findByRole("combobox", { name: "VRF" }), "blue");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("lan0")).toMatchObject({ vrf: "blue", vrf_table: null, addresses: ["10.64.0.1/16"] }),
    );
    const changed = (await screen.findByRole("button", { name: "lan0" })).closest("tr")!;
    await waitFor(() => expect(changed.textContent).toContain("in VRF blue"));
    unmount();
    renderAt("/routes?edit=r1");
    await user.click(await screen.findByRole("combobox", { name: "VRF" }));
    await user.click(await screen.findByRole("option", { name: "blue" }));
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(router.state.staged.get("static-route/r1")?.new).toMatchObject({
        vrf: "blue",
        gateway: "198.51.100.1",
      }),
    );
  });
});

describe("a bridge", () => {
  it("is made of ports that nobody configured, with what is seldom needed folded", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces");
    await screen.findByRole("button", { name: "lan0" });
    await make(user, "Bridge");
    await user.type(await screen.findByRole("textbox", { name: /^Name/ }), "br0");
    await user.click(screen.getByRole("button", { name: "Add to Ports" }));
    await user.click(screen.getByRole("combobox", { name: "Ports 1, Interface" }));
    expect(screen.queryByRole("option", { name: "blue" }), "a VRF is no port").toBeNull();
    await user.click(await screen.findByRole("option", { name: "lan0" }));
    await user.click(screen.getByText("More of lan0"));
    await user.click(screen.getByRole("button", { name: "Add to Tagged" }));
    await user.type(screen.getByRole("textbox", { name: "Tagged 1" }), "20-29");
    await user.click(screen.getByRole("switch", { name: /^VLAN filtering/ }));
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("br0")).toMatchObject({
        type: "bridge",
        bridge: {
          ports: [{ interface: "lan0", pvid: 1, tagged: ["20-29"], isolated: false, cost: null }],
          vlan_filtering: true,
          stp: "none",
        },
      }),
    );
    const row = (await screen.findByRole("button", { name: "br0" })).closest("tr")!;
    expect(row.textContent).toContain("bridge of 1 port");
  });
});

describe("a bond", () => {
  it("is made of ports, with the settings of its mode only", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces");
    await screen.findByRole("button", { name: "lan0" });
    await make(user, "Bond");
    await user.type(await screen.findByRole("textbox", { name: /^Name/ }), "bond0");
    await user.click(screen.getByRole("button", { name: "Add to Members" }));
    await user.click(screen.getByRole("combobox", { name: "Members 1, Interface" }));
    await user.click(await screen.findByRole("option", { name: "lan0" }));
    expect(screen.queryByLabelText(/^Primary/), "LACP knows no primary").toBeNull();
    expect(screen.getByLabelText(/^Least links/)).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("bond0")).toMatchObject({
        type: "bond",
        bond: { members: [{ interface: "lan0" }], mode: "802.3ad", min_links: 1 },
      }),
    );
    const row = (await screen.findByRole("button", { name: "bond0" })).closest("tr")!;
    expect(row.textContent).toContain("bond of 1 port");
  });
});

describe("what the router makes out of nothing", () => {
  it("is a tunnel, whose key it makes as well", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces");
    await screen.findByRole("button", { name: "lan0" });
    await make(user, "WireGuard tunnel");
    await user.type(await screen.findByRole("textbox", { name: /^Name/ }), "wg0");
    expect(screen.getByRole<HTMLInputElement>("textbox", { name: "Listen port" }).value).toBe("51820");
    expect(screen.queryByRole("combobox", { name: /^Addressing/ }), "it has no DHCP").toBeNull();
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("wg0")).toMatchObject({
        type: "wireguard",
        wireguard: { private_key: null, listen_port: 51820 },
        vlan: null,
      }),
    );
    const row = (await screen.findByRole("button", { name: "wg0" })).closest("tr")!;
    expect(row.textContent).toContain("WireGuard UDP port 51820");
  });

  it("is a loopback, which has neither a role nor a shaper", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=new:loopback");
    await user.type(await screen.findByRole("textbox", { name: /^Name/ }), "lo1");
    expect(screen.queryByRole("combobox", { name: /^Role/ })).toBeNull();
    expect(screen.queryByRole("combobox", { name: /^Shaper/ })).toBeNull();
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("lo1")).toMatchObject({ type: "loopback", loopback: {}, wireguard: null }),
    );
  });
});

describe("what is not in force yet", () => {
  it("is kept for the form that it was typed into", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=new");
    await user.type(await screen.findByRole("textbox", { name: /^VLAN id/ }), "7");
    await user.keyboard("{Escape}");
    await make(user, "VRF");
    await user.type(await screen.findByRole("textbox", { name: "Routing table" }), "12");
    expect(screen.queryByRole("textbox", { name: /^VLAN id/ })).toBeNull();
    await user.keyboard("{Escape}");
    await make(user, "VLAN");
    expect(await screen.findByRole<HTMLInputElement>("textbox", { name: /^VLAN id/ })).toHaveProperty(
      "value",
      "7",
    );
    expect(screen.queryByRole("textbox", { name: "Routing table" })).toBeNull();
  });

  it("can be named by a route already", async () => {
    const user = userEvent.setup();
    const { unmount } = renderAt("/interfaces?edit=new:vrf");
    await user.type(await screen.findByRole("textbox", { name: /^Name/ }), "green");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() => expect(staged("green")).toBeTruthy());
    unmount();
    renderAt("/routes?edit=r1");
    await user.click(await screen.findByRole("combobox", { name: "VRF" }));
    expect(await screen.findByRole("option", { name: "green" })).toBeTruthy();
    await user.click(screen.getByRole("combobox", { name: "Interface" }));
    expect(await screen.findByRole("option", { name: "lan0" })).toBeTruthy();
    expect(screen.getAllByRole("option").map((option) => option.textContent)).not.toContain("green");
  });
});

describe("a WAN by DHCP", () => {
  it("shows what the server gave", async () => {
    renderAt("/interfaces");
    const row = (await screen.findByRole("button", { name: "wan0" })).closest("tr")!;
    expect(row.textContent).toContain("198.51.100.7/24 DHCP");
    expect(
      within(row).getByTitle(/from 198.51.100.1; gateway 198.51.100.1; DNS 9.9.9.9; until/),
    ).toBeTruthy();
  });

  it("is chosen in the form", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=lan0");
    await user.selectOptions(await screen.findByRole("combobox", { name: "IPv4 address" }), "dhcp");
    expect(screen.getByRole("textbox", { name: /^Further addresses/ })).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("lan0")).toMatchObject({ addressing: "dhcp", addresses: ["10.64.0.1/16"] }),
    );
  });
});
