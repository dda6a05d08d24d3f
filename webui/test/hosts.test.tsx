// SPDX-License-Identifier: Apache-2.0
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import type { Host } from "@/api/types";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const LAPTOP: Host = {
  id: "lan0/02:00:00:00:00:07",
  interface: "lan0",
  mac: "02:00:00:00:00:07",
  confirmed_s: 1,
  addresses: [
    {
      address: "10.64.0.7",
      name: "laptop",
      state: "reachable",
      confirmed_s: 1,
      queue: { id: "q1", name: "customer 7" },
    },
    { address: "fe80::7", name: null, state: "stale", confirmed_s: 300, queue: null },
  ],
};
const SILENT: Host = {
  id: "lan0/10.64.0.99",
  interface: "lan0",
  mac: null,
  confirmed_s: null,
  addresses: [{ address: "10.64.0.99", name: null, state: "failed", confirmed_s: null, queue: null }],
};

const rowOf = async (address: string) => (await screen.findByText(address)).closest("tr")!;

describe("the hosts", () => {
  it("show each address with its queue and when it was seen", async () => {
    router.state.hosts = [LAPTOP, SILENT];
    renderAt("/hosts");
    const row = await rowOf("10.64.0.7");
    expect(within(row).getByRole("link", { name: "customer 7" }).getAttribute("href")).toBe("/queues/q1");
    expect(row.textContent).toContain("laptop");
    expect(row.textContent).toContain("now");
    expect(row.textContent).toContain("5 min ago");
    expect((await rowOf("10.64.0.99")).textContent).toContain("no answer");
  });

  it("have a dash where nothing is known, which a card leaves out", async () => {
    router.state.hosts = [LAPTOP, SILENT];
    renderAt("/hosts");
    const cells = (row: HTMLElement): Record<string, string> =>
      Object.fromEntries(
        [...row.querySelectorAll("td")].map((cell) => [
          cell.dataset["col"] ?? "",
          `${cell.textContent}${cell.dataset["absent"] ? " (absent)" : ""}`,
        ]),
      );
    const absent = "– (absent)";
    expect(cells(await rowOf("10.64.0.99"))).toMatchObject({
      ...{ name: absent, mac: absent, upload: absent, download: absent },
      seen: "no answer",
    });
    expect(cells(await rowOf("10.64.0.7"))).toMatchObject({ name: "laptop–", mac: LAPTOP.mac });
  });

  it("start a queue for an address that has none", async () => {
    router.state.hosts = [SILENT];
    renderAt("/hosts");
    await userEvent.setup().click(await screen.findByRole("link", { name: "Limit this address" }));
    const target = await screen.findByRole<HTMLTextAreaElement>("textbox", { name: /^Target/ });
    expect(target.value).toBe("10.64.0.99");
  });

  it("are searched for in the router", async () => {
    router.state.hosts = [LAPTOP, SILENT];
    const user = userEvent.setup();
    renderAt("/hosts");
    await rowOf("10.64.0.7");
    await user.type(screen.getByRole("searchbox", { name: /^Search hosts/ }), "10.64.0.99");
    expect(await screen.findByText("1 host")).toBeTruthy();
    await user.type(screen.getByRole("searchbox", { name: /^Search hosts/ }), "9");
    expect(await screen.findByText('No host matches "10.64.0.999"')).toBeTruthy();
  });

  it("are not said to be none while the agent is away", async () => {
    router.state.hosts = null;
    renderAt("/hosts");
    expect(await screen.findByText("The agent does not answer.")).toBeTruthy();
    expect(screen.queryByText("No hosts yet")).toBeNull();
  });
});
