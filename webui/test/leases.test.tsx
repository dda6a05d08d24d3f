// SPDX-License-Identifier: Apache-2.0
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import type { GivenLease } from "@/api/types";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const LAPTOP: GivenLease = {
  address: "10.64.0.7",
  mac: "02:00:00:00:00:07",
  hostname: "laptop",
  client_id: null,
  expires_at: new Date(Date.now() + 1_800_000).toISOString(),
  server: "lan",
  interface: "lan0",
  reservation: null,
  network: "10.64.0.0/24",
  gateway: null,
  origin: null,
};
const PRINTER: GivenLease = { ...LAPTOP, address: "10.64.0.8", hostname: null, reservation: "r1" };

const rowOf = async (address: string) => (await screen.findByText(address)).closest("tr")!;

describe("the leases", () => {
  it("say who has which address, for how long, and which are static", async () => {
    router.state.leases = [LAPTOP, PRINTER];
    renderAt("/leases");
    const row = await rowOf("10.64.0.7");
    expect(row.textContent).toContain("laptop");
    expect(row.textContent).toContain("min");
    expect(within(row).getByRole("link", { name: "lan" }).getAttribute("href")).toBe(
      "/dhcp-servers?edit=lan",
    );
    const link = within(await rowOf("10.64.0.8")).getByRole("link", { name: "r1" });
    expect(link.getAttribute("href")).toBe("/dhcp-reservations?edit=r1");
  });

  it("become static by a form that is filled in", async () => {
    router.state.leases = [LAPTOP];
    renderAt("/leases");
    await userEvent.setup().click(await screen.findByRole("link", { name: "Make static" }));
    const address = await screen.findByRole<HTMLInputElement>("textbox", { name: /^Address/ });
    expect(address.value).toBe("10.64.0.7");
    expect(screen.getByRole<HTMLInputElement>("textbox", { name: /^MAC address/ }).value).toBe(LAPTOP.mac);
  });

  it("of IPv6 become static by the end of their address, and lead to their own server", async () => {
    const duid = "00:03:00:01:02:00:00:00:00:07";
    const network = "2001:db8:64::/64";
    const six = { ...LAPTOP, address: "2001:db8:64::1:7", client_id: duid, network };
    router.state.leases = [six, { ...six, address: "2001:db8:64::8", reservation: "r6" }];
    renderAt("/leases");
    const row = await rowOf("2001:db8:64::1:7");
    const server = within(row).getByRole("link", { name: "lan" });
    expect(server.getAttribute("href")).toBe("/dhcpv6-servers?edit=lan");
    const link = within(await rowOf("2001:db8:64::8")).getByRole("link", { name: "r6" });
    expect(link.getAttribute("href")).toBe("/dhcpv6-reservations?edit=r6");
    await userEvent.setup().click(within(row).getByRole("link", { name: "Make static" }));
    const address = await screen.findByRole<HTMLInputElement>("textbox", { name: /^Address/ });
    expect(address.value).toBe("::1:7");
    expect(screen.getByRole<HTMLInputElement>("textbox", { name: /^DUID/ }).value).toBe(duid);
  });

  it("of a prefix become reservations of it, and queues of all that is behind a router", async () => {
    const duid = "00:03:00:01:02:00:00:00:00:09";
    const prefix = "2001:db8:1000::/56";
    router.state.leases = [{ ...LAPTOP, address: prefix, client_id: duid }];
    renderAt("/leases");
    const row = await rowOf(prefix);
    const queue = within(row).getByRole("link", { name: "Make a queue" });
    expect(decodeURIComponent(queue.getAttribute("href")!)).toContain(`target=${prefix}`);
    await userEvent.setup().click(within(row).getByRole("link", { name: "Make static" }));
    const field = await screen.findByRole<HTMLInputElement>("textbox", { name: /^Prefix/ });
    expect(field.value).toBe(prefix);
    expect(screen.getByRole<HTMLInputElement>("textbox", { name: /^Address/ }).value).toBe("");
  });

  it.each([
    ["2001:db8:64:1ff::a", "2001:db8:64:100::/56", "::ff:0:0:0:a"],
    ["2001:db8:64::ab:12cd", "2001:db8:64::ab:0/112", "::12cd"],
    ["2001:db8:64::abcd", "2001:db8:64::abc0/122", "::d"],
    ["2001:db8:64::", "2001:db8:64::/64", "::"],
  ])("of IPv6 have an end behind a network of any length: %s", async (address, network, end) => {
    router.state.leases = [{ ...LAPTOP, address, network }];
    renderAt(`/leases?make=${encodeURIComponent(address)}`);
    const field = await screen.findByRole<HTMLInputElement>("textbox", { name: /^Address/ });
    expect(field.value).toBe(end);
  });

  it("of a part of a provider's prefix say whose it is and where it leads, and are not made static", async () => {
    const origin = "2001:db8:f000::/56 of wan0";
    const part = { ...LAPTOP, address: "2001:db8:f000:80::/60", network: null };
    router.state.leases = [
      { ...part, origin, gateway: "fe80::1" },
      { ...part, address: "2001:db8:f000:90::/60", origin },
    ];
    renderAt("/leases");
    const row = await rowOf(part.address);
    expect(row.textContent).toContain("fe80::1 on lan0part of 2001:db8:f000::/56 of wan0");
    expect(within(row).queryByRole("link", { name: "Make static" })).toBeNull();
    expect((await rowOf("2001:db8:f000:90::/60")).textContent).toContain("not known yet");
  });

  it("start a queue for their address", async () => {
    router.state.leases = [LAPTOP];
    renderAt("/leases");
    await userEvent.setup().click(await screen.findByRole("link", { name: "Make a queue" }));
    const target = await screen.findByRole<HTMLTextAreaElement>("textbox", { name: /^Target/ });
    expect(target.value).toBe("10.64.0.7");
  });

  it("are searched for in the router", async () => {
    router.state.leases = [LAPTOP, PRINTER];
    const user = userEvent.setup();
    renderAt("/leases");
    await rowOf("10.64.0.7");
    await user.type(screen.getByRole("searchbox", { name: /^Search leases/ }), "laptop");
    expect(await screen.findByText("1 lease")).toBeTruthy();
    await user.type(screen.getByRole("searchbox", { name: /^Search leases/ }), "<b>");
    expect(await screen.findByText('No lease matches "laptop<b>"')).toBeTruthy();
  });

  it("are not said to be none while the agent is away", async () => {
    router.state.leases = null;
    renderAt("/leases");
    expect(await screen.findByText("The agent does not answer.")).toBeTruthy();
    expect(screen.queryByText("No leases")).toBeNull();
  });
});
