// SPDX-License-Identifier: Apache-2.0
/** What the router would do with a packet, asked on the page of the diagnostics. */
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import type { PacketPath } from "@/api/types";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();

const step = (
  at: PacketPath["steps"][number]["at"],
  state: PacketPath["steps"][number]["state"],
  sentence: string,
  more: Partial<PacketPath["steps"][number]> = {},
): PacketPath["steps"][number] => ({
  at,
  state,
  sentence,
  kind: null,
  id: null,
  details: [],
  not_known: [],
  ...more,
});

const ANSWER: PacketPath = {
  revision: 7,
  candidate: false,
  fate: "dropped",
  sentence: "The firewall drops it.",
  steps: [
    step("ingress", "passes", "It comes in by lan0, zone lan.", { kind: "interface", id: "lan0" }),
    step("queue-in", "unknown", "The queue could not be looked at.", { not_known: ["the agent is away"] }),
    step("firewall", "drops", "The firewall drops it.", {
      kind: "firewall-rule",
      id: "mail",
      details: ["forward drop: rule mail"],
    }),
  ],
  leaves: null,
};

function answering(answer: () => Response): string[] {
  const asked: string[] = [];
  router.server.use(
    http.get("*/api/v1/diagnosis/path", ({ request }) => {
      asked.push(new URL(request.url).search);
      return answer();
    }),
  );
  return asked;
}

describe("what the router would do with a packet", () => {
  it("is told step by step, each with a link to what decided there", async () => {
    const asked = answering(() => HttpResponse.json(ANSWER));
    renderAt("/diagnostics?from=10.64.0.2&to=1.1.1.1&protocol=udp&port=53&in=lan0");
    const line = await screen.findByRole("list", { name: "The way of the packet" });
    expect(asked).toEqual(["?source=10.64.0.2&destination=1.1.1.1&protocol=udp&port=53&in_interface=lan0"]);
    const steps = within(line).getAllByRole("listitem");
    expect(steps.map((item) => item.querySelector("strong")!.textContent)).toEqual([
      "Comes in",
      "Queue",
      "Firewall",
    ]);
    expect(within(steps[1]!).getByText("Not known")).toBeTruthy();
    expect(steps[1]!.textContent).toContain("Not known: the agent is away.");
    expect(within(steps[2]!).getByText("Drops it")).toBeTruthy();
    const link = within(steps[2]!).getByRole("link", { name: "firewall rule mail" });
    expect(link.getAttribute("href")).toContain("edit=mail");
    expect(screen.getByText("By revision 7. No packet was sent.")).toBeTruthy();
  });

  it("is asked by a form whose packet is in the page's address", async () => {
    const user = userEvent.setup();
    const asked = answering(() => HttpResponse.json(ANSWER));
    const { history } = renderAt("/diagnostics");
    await user.type(await screen.findByRole("textbox", { name: /^Source/ }), "203.0.113.2");
    await user.type(screen.getByRole("textbox", { name: /^Destination/ }), "8.8.8.8");
    await user.selectOptions(screen.getByLabelText("Comes in by"), "The router itself");
    await user.selectOptions(screen.getByLabelText("Protocol"), "icmp");
    const form = screen.getByLabelText("Comes in by").closest("form")!;
    await user.click(within(form).getByRole("button", { name: "Look" }));
    await screen.findByRole("list", { name: "The way of the packet" });
    expect(asked).toEqual(["?source=203.0.113.2&destination=8.8.8.8&protocol=icmp&port=0&from_router=true"]);
    expect(history.location.search).toContain("from=203.0.113.2");
    const again = screen.getByLabelText("Comes in by").closest("form")!;
    await user.click(within(again).getByRole("button", { name: "Look" }));
    await waitFor(() => expect(asked).toHaveLength(2));
  });

  it("says why a question cannot be answered", async () => {
    const detail = "no interface 'eth9' is configured";
    answering(() =>
      HttpResponse.json({ status: 422, code: "unknown-interface", title: "x", detail }, { status: 422 }),
    );
    renderAt("/diagnostics?from=10.64.0.2&to=1.1.1.1&in=eth9");
    expect(
      (await screen.findByText(/^No interface 'eth9' is configured/)).closest("[role=alert]"),
    ).toBeTruthy();
  });

  it("offers what is pending only where something is", async () => {
    renderAt("/diagnostics");
    await screen.findByLabelText("Comes in by");
    expect(screen.queryByLabelText("With what is pending")).toBeNull();
  });
});
