// SPDX-License-Identifier: Apache-2.0
/** What the router would do with a packet, asked on the page of the diagnostics. */
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import type { PacketPath, PathProof } from "@/api/types";
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

const PROOF: PathProof = {
  revision: 7,
  predicted: ANSWER,
  fate: "forwarded",
  outcome: "differs",
  sentence:
    "The frame did something else than was foretold. That is a fault of Weir's: please send us the file.",
  steps: [
    { at: "ingress", predicted: ANSWER.steps[0]!, outcome: "same", sentence: "It came in by lan0." },
    { at: "firewall", predicted: ANSWER.steps[2]!, outcome: "differs", sentence: "No rule decided." },
    { at: "nat-out", predicted: null, outcome: "differs", sentence: "NAT gave it the source 203.0.113.2." },
  ],
  source_port: 50_000,
  took_ms: 45.2,
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

  it("offers what is proved beside what was foretold, and says what differs", async () => {
    const user = userEvent.setup();
    answering(() => HttpResponse.json(ANSWER));
    const sent: unknown[] = [];
    router.server.use(
      http.post("*/api/v1/diagnosis/path/prove", async ({ request }) => {
        sent.push(await request.json());
        return HttpResponse.json(PROOF);
      }),
    );
    renderAt("/diagnostics?from=10.64.0.2&to=1.1.1.1&protocol=udp&port=53&in=lan0");
    await user.click(await screen.findByRole("button", { name: "Prove" }));
    const line = await screen.findByRole("list", { name: "What the frame did" });
    expect(sent).toEqual([
      {
        source: "10.64.0.2",
        destination: "1.1.1.1",
        protocol: "udp",
        port: 53,
        in_interface: "lan0",
        from_router: false,
        source_port: 0,
        vlan: null,
        tos: 0,
      },
    ]);
    const steps = within(line).getAllByRole("listitem");
    expect(steps.map((item) => item.getAttribute("data-outcome"))).toEqual(["same", "differs", "differs"]);
    expect(steps[0]!.textContent).toBe(
      "Comes inProvedForetold: It comes in by lan0, zone lan.It came in by lan0.",
    );
    expect(within(steps[1]!).getByText("Differs")).toBeTruthy();
    expect(steps[2]!.textContent).toContain("Foretold: nothing.");
    expect(screen.getByText(/a fault of Weir's/).closest("[role=alert]")).toBeTruthy();
    expect(screen.getByText("By revision 7, in 45 ms. Nothing left the router.")).toBeTruthy();
  });

  it("says why nothing is proved, and offers no proof of what cannot be", async () => {
    const user = userEvent.setup();
    answering(() => HttpResponse.json(ANSWER));
    const detail = "a frame is on its way already; one at a time";
    router.server.use(
      http.post("*/api/v1/diagnosis/path/prove", () =>
        HttpResponse.json({ status: 409, code: "proof-busy", title: "x", detail }, { status: 409 }),
      ),
    );
    const { unmount } = renderAt("/diagnostics?from=10.64.0.2&to=1.1.1.1&protocol=udp&port=53");
    await user.click(await screen.findByRole("button", { name: "Prove" }));
    expect(await screen.findByText(/^A frame is on its way already/)).toBeTruthy();
    unmount();
    renderAt("/diagnostics?from=10.64.0.2&to=1.1.1.1&protocol=gre");
    await screen.findByRole("list", { name: "The way of the packet" });
    expect(screen.queryByRole("button", { name: "Prove" })).toBeNull();
  });
});
