// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { asCustomersSee } from "@/api/interfaces";
import { shortRate } from "@/ui/rates";
import { interfaceStats } from "./mock/live";
import { FakeEventSource, HIGH_PX, mockRouter, renderAt } from "./render";

mockRouter(12, HIGH_PX);
const AT = 1_000;
const stats = () => interfaceStats(AT);
const send = async () => {
  await waitFor(() => expect(FakeEventSource.last).not.toBeNull());
  FakeEventSource.last?.send("interfaces", { at: AT, stale_since: null, stale_reason: null, items: stats() });
};

describe("the directions of an interface", () => {
  it("are the customers' on both pages, by the same names", async () => {
    const { unmount } = renderAt("/interfaces");
    await screen.findByRole("button", { name: "wan0" });
    await send();
    const table = within(screen.getByRole("grid", { name: "interfaces" }));
    const titles = table.getAllByRole("columnheader").map((head) => head.textContent);
    expect(titles).toEqual(expect.arrayContaining(["↑ Upload", "↓ Download"]));
    expect(titles.join()).not.toMatch(/received|sent/i);
    const shown: Record<string, (string | null)[]> = {};
    for (const port of stats()) {
      const cells = within(
        screen.getByRole("button", { name: port.id }).closest<HTMLElement>("[role=row]")!,
      ).getAllByRole("gridcell");
      await waitFor(() => expect(cells[titles.indexOf("↑ Upload")]?.textContent).toMatch(/\d/));
      shown[port.id] = ["↑ Upload", "↓ Download"].map(
        (title) => cells[titles.indexOf(title)]?.textContent ?? null,
      );
    }
    const [lan, wan] = stats();
    expect(shown["lan0"]).toEqual([shortRate(lan!.rx_bps), shortRate(lan!.tx_bps)]);
    expect(shown["wan0"]).toEqual([shortRate(wan!.tx_bps), shortRate(wan!.rx_bps)]);
    unmount();

    renderAt("/");
    await screen.findByRole("heading", { name: "Interfaces" });
    await send();
    for (const [id, [up, down]] of Object.entries(shown)) {
      const rates = (await screen.findByTestId(`rates-${id}`)).textContent;
      expect(rates.replaceAll(/ ([kMG])bit\/s/g, "$1")).toContain(`↑ ${up} ↓ ${down}`);
    }
    expect(screen.getByRole("heading", { name: "Interfaces" }).parentElement?.textContent).toContain(
      "↑ upload ↓ download, as customers see them",
    );
  });

  it("are those of the LAN turned round for every other role", () => {
    expect(asCustomersSee("lan", 1, 2)).toEqual({ upload: 1, download: 2 });
    expect(asCustomersSee("wan", 1, 2)).toEqual({ upload: 2, download: 1 });
    expect(asCustomersSee("none", 1, 2)).toEqual({ upload: 2, download: 1 });
  });
});
