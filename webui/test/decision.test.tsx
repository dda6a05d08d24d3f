// SPDX-License-Identifier: Apache-2.0
/** Which rule decides about a packet, asked above the rules. */
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const NOTHING = { items: [], states: null, next_cursor: null, total: 0 };
const ANSWER = {
  revision: 7,
  chain: "forward",
  verdict: "drop",
  decided_by: { kind: "firewall-rule", id: "mail", text: "forward drop: rule mail" },
  in_interface: "lan0",
  out_interface: "wan0",
  source: "10.64.0.7",
  destination: "198.51.100.7",
  port: 25,
  translations: [{ kind: "nat-rule", id: "web", text: "NAT rule web" }],
  unsure: ["rule learnt looks at a set"],
  at: "2026-11-28T20:30",
  resting: [{ kind: "firewall-rule", id: "school", text: "forward drop: rule school" }],
};

async function asking(page: string, answer: () => Response): Promise<string[]> {
  const user = userEvent.setup();
  const asked: string[] = [];
  router.server.use(
    http.get("*/api/v1/firewall-rules", () => HttpResponse.json(NOTHING)),
    http.get("*/api/v1/nat-rules", () => HttpResponse.json(NOTHING)),
    http.get("*/api/v1/firewall/decision", ({ request }) => {
      asked.push(new URL(request.url).search);
      return answer();
    }),
  );
  renderAt(page);
  await user.click(await screen.findByText("Which rule decides?"));
  await user.type(screen.getByRole("textbox", { name: "From" }), "10.64.0.7");
  await user.type(screen.getByRole("textbox", { name: "To" }), "198.51.100.7");
  await user.type(screen.getByRole("textbox", { name: "Port" }), "25");
  await user.click(screen.getByRole("button", { name: "Ask" }));
  await waitFor(() => expect(asked).toHaveLength(1));
  return asked;
}

describe("which rule decides", () => {
  it("is said with a link to the rule, and with what is not known", async () => {
    const asked = await asking("/rules", () => HttpResponse.json(ANSWER));
    expect(asked[0]).toBe("?source=10.64.0.7&destination=198.51.100.7&protocol=tcp&port=25");
    const link = await screen.findByRole("link", { name: "forward drop: rule mail" });
    expect(link.getAttribute("href")).toContain("/rules?edit=mail");
    const told = screen.getByText("It is dropped").closest("div")!;
    expect(told.textContent).toContain("from lan0 to wan0");
    expect(told.textContent).toContain("Not known: rule learnt looks at a set.");
    expect(screen.getByRole("link", { name: "NAT rule web" })).toBeTruthy();
    expect(told.textContent).toContain("Not at 2026-11-28 20:30: forward drop: rule school");
  });

  it("is asked for another time than now", async () => {
    const asked = await asking("/rules", () => HttpResponse.json(ANSWER));
    const field = screen.getByLabelText("At (now if empty)");
    fireEvent.change(field, { target: { value: "2026-11-28T20:30" } });
    await userEvent.click(screen.getByRole("button", { name: "Ask" }));
    await waitFor(() => expect(asked[1]).toContain("at=2026-11-28T20%3A30"));
  });

  it("is told who sends the packet", async () => {
    const asked = await asking("/rules", () => HttpResponse.json(ANSWER));
    await userEvent.type(screen.getByRole("textbox", { name: "Source MAC" }), "02:00:5e:10:00:07 ");
    await userEvent.click(screen.getByRole("button", { name: "Ask" }));
    await waitFor(() => expect(asked[1]).toContain("&source_mac=02%3A00%3A5e%3A10%3A00%3A07"));
    expect(asked[0]).not.toContain("source_mac");
  });

  it("is asked above the NAT rules, too, and an answer that cannot be given says why", async () => {
    await asking("/nat-rules", () =>
      HttpResponse.json(
        {
          type: "urn:weir:problem:unknown-way",
          title: "x",
          status: 422,
          detail: "give the interface",
          code: "unknown-way",
        },
        { status: 422 },
      ),
    );
    expect(await screen.findAllByText(/give the interface/)).not.toHaveLength(0);
  });
});

describe("every rule that runs", () => {
  it("is listed by chain, locked where nobody typed it, with a link to what made it", async () => {
    const user = userEvent.setup();
    const rule = (chain: string, kind: string, id: string) => ({
      chain,
      kind,
      id,
      text: `${chain} by ${id}`,
    });
    const items = [
      rule("input", "zone", "guests"),
      rule("forward", "firewall-rule", "mail"),
      rule("forward", "firewall", "firewall"),
    ];
    router.server.use(
      http.get("*/api/v1/firewall-rules", () => HttpResponse.json(NOTHING)),
      http.get("*/api/v1/firewall/ruleset", () => HttpResponse.json({ revision: 7, items, total: 4 })),
    );
    renderAt("/rules");
    await user.click(await screen.findByText("Every rule that runs"));
    const table = await screen.findByRole("table", { name: "Rules of forward" });
    const [, typed, locked] = within(table).getAllByRole("row");
    expect(within(typed!).queryByRole("img", { name: "locked" })).toBeNull();
    expect(within(locked!).getByRole("img", { name: "locked" })).toBeInstanceOf(SVGElement);
    expect(within(typed!).getByRole("link", { name: "mail" }).getAttribute("href")).toContain("edit=mail");
    expect(screen.getByText(/1 more rule not listed/)).toBeInstanceOf(HTMLElement);
    await user.selectOptions(screen.getByLabelText("Chain"), "input");
    expect(await screen.findByRole("table", { name: "Rules of input" })).toBeInstanceOf(HTMLElement);
    expect(screen.getByRole("link", { name: "guests" })).toBeInstanceOf(HTMLElement);
  });
});
