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
    const six = { ...LAPTOP, address: "2001:db8:64::1:7", client_id: duid, reservation: null };
    router.state.leases = [six, { ...six, address: "2001:db8:64::8", reservation: "r6" }];
    renderAt("/leases");
    const row = await rowOf("2001:db8:64::1:7");
    const server = within(row).getByRole("link", { name: "lan" });
    expect(server.getAttribute("href")).toBe("/dhcpv6-servers?edit=lan");
    const link = within(await rowOf("2001:db8:64::8")).getByRole("link", { name: "r6" });
    expect(link.getAttribute("href")).toBe("/dhcpv6-reservations?edit=r6");
    await userEvent.setup().click(within(row).getByRole("link", { name: "Make static" }));
    const address = await screen.findByRole<HTMLInputElement>("textbox", { name: /^Address/ });
    expect(address.value).toBe("::0:0:1:7");
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
