// SPDX-License-Identifier: Apache-2.0
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { HIGH_PX, mockRouter, renderAt } from "./render";

const router = mockRouter(12, HIGH_PX);
const staged = (id: string) => router.state.staged.get(`interface/${id}`)?.new;

const make = async (user: ReturnType<typeof userEvent.setup>, what: string) => {
  await user.click(screen.getByRole("button", { name: "New interface" }));
  await user.click(await screen.findByRole("menuitem", { name: new RegExp(`^${what}`) }));
};

/** At once: keys one by one take seconds in a form of this size on a busy machine. */
const fill = (field: HTMLElement, text: string) => fireEvent.change(field, { target: { value: text } });

const choose = async (user: ReturnType<typeof userEvent.setup>, field: string | RegExp, option: string) => {
  await user.click(screen.getByRole("combobox", { name: field }));
  await user.click(await screen.findByRole("option", { name: option }));
};

describe("a VLAN", () => {
  it("that was staged leaves an empty form without errors, and with an example that looks like one", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=new");
    await user.click(await screen.findByRole("button", { name: "Stage the change" }));
    const name = () => screen.getByRole<HTMLInputElement>("textbox", { name: /^Name/ });
    await waitFor(() => expect(name().getAttribute("aria-invalid")).toBe("true"));
    fill(name(), "shop");
    fill(screen.getByRole("textbox", { name: /^ID/ }), "7");
    await choose(user, /^Parent/, "lan0");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() => expect(router.state.staged.has("interface/shop")).toBe(true));
    await make(user, "VLAN");
    await screen.findByRole("textbox", { name: /^ID/ });
    expect(name().value).toBe("");
    expect(name().getAttribute("aria-invalid")).not.toBe("true");
    expect(name().placeholder).toBe("such as lan0.100");
    await choose(user, /^Parent/, "lan0");
    expect(name().placeholder).toBe("such as lan0.100");
  });

  it("is made by name, parent and tag", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=new");
    fill(await screen.findByRole("textbox", { name: /^Name/ }), "lan0.7");
    fill(screen.getByRole("textbox", { name: /^ID/ }), "5000");
    const stage = screen.getByRole("button", { name: "Stage the change" });
    await user.click(stage);
    expect(await screen.findAllByText(/A whole number from 1 to 4,094/)).toBeTruthy();
    fill(screen.getByRole("textbox", { name: /^ID/ }), "");
    await choose(user, /^Parent/, "lan0");
    fill(screen.getByRole("textbox", { name: /^ID/ }), "7");
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
    fill(await screen.findByRole("textbox", { name: /^Name/ }), "wan0");
    await choose(user, /^Parent/, "lan0");
    fill(screen.getByRole("textbox", { name: /^ID/ }), "7");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    expect(await screen.findByText("There is another interface of this name.")).toBeTruthy();
    expect(staged("wan0")).toBeUndefined();
  });

  it("without its port says what it waits for", async () => {
    renderAt("/interfaces");
    expect(
      await screen.findByRole("img", {
        name: "VLAN acme waits for lan9, which this router does not have now",
      }),
    ).toBeTruthy();
    const row = screen.getByRole("button", { name: "acme" }).closest<HTMLElement>("[role=row]")!;
    expect(within(row).getByText("✕ missing")).toBeTruthy();
    expect(row.textContent).toContain("VLAN 100 on lan9");
  });

  it("keeps its tag when something else is changed", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=acme");
    fill(await screen.findByRole("textbox", { name: "Description" }), "customers of town");
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
    const row = (await screen.findByRole("button", { name: "blue" })).closest<HTMLElement>("[role=row]")!;
    expect(row.textContent).toContain("VRF table 26284");
    await user.keyboard("v");
    fill(await screen.findByRole("textbox", { name: /^Name/ }), "green");
    const table = () => screen.getByRole<HTMLInputElement>("textbox", { name: "VRF table" });
    expect(table().value, "a table that goes by its name").toBe("0");
    fill(table(), "70000");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    expect(await screen.findAllByText(/A whole number from 0 to 65,535/)).toBeTruthy();
    fill(table(), "0");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("green")).toMatchObject({ type: "vrf", vlan: null, vrf: null, vrf_table: 0 }),
    );
  });

  it("is chosen for an interface and for a route", async () => {
    const user = userEvent.setup();
    const { unmount } = renderAt("/interfaces?edit=lan0");
    await screen.findByRole("combobox", { name: "VRF" });
    await choose(user, "VRF", "blue");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("lan0")).toMatchObject({ vrf: "blue", vrf_table: null, addresses: ["10.64.0.1/16"] }),
    );
    const changed = (await screen.findByRole("button", { name: "lan0" })).closest<HTMLElement>("[role=row]")!;
    await waitFor(() => expect(changed.textContent).toContain("blue"));
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
    fill(await screen.findByRole("textbox", { name: /^Name/ }), "br0");
    await user.click(screen.getByRole("button", { name: "Add to Ports" }));
    await user.click(screen.getByRole("combobox", { name: "Ports 1, Interface" }));
    expect(screen.queryByRole("option", { name: "blue" }), "a VRF is no port").toBeNull();
    await user.click(await screen.findByRole("option", { name: "lan0" }));
    await user.click(screen.getByText("More of lan0"));
    await user.click(screen.getByRole("button", { name: "Add to Tagged" }));
    fill(screen.getByRole("textbox", { name: "Tagged 1" }), "20-29");
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
    const row = (await screen.findByRole("button", { name: "br0" })).closest<HTMLElement>("[role=row]")!;
    expect(row.textContent).toContain("bridge of 1 port");
  });
});

describe("a bond", () => {
  it("is made of ports, with the settings of its mode only", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces");
    await screen.findByRole("button", { name: "lan0" });
    await make(user, "Bond");
    fill(await screen.findByRole("textbox", { name: /^Name/ }), "bond0");
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
    const row = (await screen.findByRole("button", { name: "bond0" })).closest<HTMLElement>("[role=row]")!;
    expect(row.textContent).toContain("bond of 1 port");
  });
});

describe("what the router makes out of nothing", () => {
  it("is a tunnel, whose key it makes as well", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces");
    await screen.findByRole("button", { name: "lan0" });
    await make(user, "WireGuard tunnel");
    fill(await screen.findByRole("textbox", { name: /^Name/ }), "wg0");
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
    const row = (await screen.findByRole("button", { name: "wg0" })).closest<HTMLElement>("[role=row]")!;
    expect(row.textContent).toContain("WireGuard UDP port 51820");
  });

  it("is a PPPoE session, in the zone wan, with a password that is not shown", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=new:pppoe");
    fill(await screen.findByRole("textbox", { name: /^Name/ }), "dsl0");
    await choose(user, /^Parent/, "wan0");
    fill(screen.getByRole("textbox", { name: /^Username/ }), "me@isp");
    const password = screen.getByLabelText<HTMLInputElement>(/^Password/);
    expect(password.type).toBe("password");
    fill(password, "hunter2");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("dsl0")).toMatchObject({
        type: "pppoe",
        role: "wan",
        overhead_bytes: 26,
        pppoe: { parent: "wan0", username: "me@isp", distance: 210 },
      }),
    );
    const row = (await screen.findByRole("button", { name: "dsl0" })).closest<HTMLElement>("[role=row]")!;
    expect(row.textContent).toContain("PPPoE over wan0");
  });

  it("is a loopback, which has neither a role nor a shaper", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=new:loopback");
    fill(await screen.findByRole("textbox", { name: /^Name/ }), "lo1");
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
    fill(await screen.findByRole("textbox", { name: /^ID/ }), "7");
    await user.keyboard("{Escape}");
    await make(user, "VRF");
    fill(await screen.findByRole("textbox", { name: "VRF table" }), "12");
    expect(screen.queryByRole("textbox", { name: /^ID/ })).toBeNull();
    await user.keyboard("{Escape}");
    await make(user, "VLAN");
    expect(await screen.findByRole<HTMLInputElement>("textbox", { name: /^ID/ })).toHaveProperty(
      "value",
      "7",
    );
    expect(screen.queryByRole("textbox", { name: "VRF table" })).toBeNull();
  });

  it("can be named by a route already", async () => {
    const user = userEvent.setup();
    const { unmount } = renderAt("/interfaces?edit=new:vrf");
    fill(await screen.findByRole("textbox", { name: /^Name/ }), "green");
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
    const row = (await screen.findByRole("button", { name: "wan0" })).closest<HTMLElement>("[role=row]")!;
    expect(row.textContent).toContain("198.51.100.7/24 DHCP");
    expect(
      within(row).getByTitle(/from 198.51.100.1; gateway 198.51.100.1; DNS 9.9.9.9; until/),
    ).toBeTruthy();
  });

  it("says what a part is for before it is added", async () => {
    renderAt("/interfaces?edit=wan0");
    const part = within(await screen.findByRole("group", { name: "DHCPv6" }));
    expect(part.getByText(/asks the provider for a prefix/)).toBeTruthy();
    await userEvent.click(part.getByRole("button", { name: "Add to DHCPv6" }));
    expect(await screen.findByLabelText(/^Prefix length/)).toBeTruthy();
  });

  it("is chosen in the form", async () => {
    const user = userEvent.setup();
    renderAt("/interfaces?edit=lan0");
    await user.selectOptions(await screen.findByRole("combobox", { name: "Addressing" }), "dhcp");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("lan0")).toMatchObject({ addressing: "dhcp", addresses: ["10.64.0.1/16"] }),
    );
  });
});
