// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const customer = () => [...router.state.queues.values()].find((queue) => queue.parent !== null)!;

describe("a queue's page", () => {
  it("shows the path to the root, and which line of the kernel differs from what was asked", async () => {
    const queue = customer();
    renderAt(`/queues/${queue.id}`);
    expect((await screen.findByTestId("drop-reasons")).textContent).toContain("75 % early");
    const path = (await screen.findByRole("heading", { name: "Path to the root" })).closest("section")!;
    expect(within(path).getByRole("link", { name: queue.path[0]?.name })).toBeInstanceOf(HTMLElement);
    const subQueues = await screen.findByRole("table", { name: "Sub-queues by address" });
    expect(
      within(subQueues)
        .getAllByRole("row")
        .slice(1)
        .map((row) => row.textContent),
    ).toEqual([expect.stringContaining("500 kbit/s")]);
    const busiest = within(screen.getByRole("table", { name: "Addresses that send most" }))
      .getAllByRole("row")
      .slice(1);
    expect(busiest.map((row) => row.textContent)).toEqual([
      expect.stringMatching(/10\.64\.0\.7\/32.*480 kbit\/s/),
      expect.stringContaining("a pair of addresses"),
    ]);
    const facts = within(screen.getByTestId("live-facts"));
    expect(facts.getByRole("row", { name: /Round trip –/ }).textContent).toContain("24 ms (from 21 ms)");
    expect(facts.getByRole("row", { name: /Round trip of 14 below/ }).textContent).toContain(
      "18 ms (from 1.5 ms)",
    );
    const explain = await screen.findByRole("table", { name: "Asked, compiled, in the kernel" });
    const rows = within(explain).getAllByRole("row").slice(1);
    expect(rows.map((row) => within(row).getAllByRole("cell").at(-1)?.textContent.trim())).toEqual([
      "yes",
      "no",
    ]);
    expect(screen.getByText("✕ the kernel differs")).toBeInstanceOf(HTMLElement);
    expect(await screen.findByText(/by admin/)).toBeInstanceOf(HTMLElement);
  });

  it("says that a queue is gone, and where to look for it", async () => {
    renderAt("/queues/nobody");
    expect(await screen.findByText("There is no such queue")).toBeInstanceOf(HTMLElement);
    expect(within(screen.getByRole("main")).getByRole("link", { name: "History" })).toBeTruthy();
  });
});

describe("the history", () => {
  it("compares two revisions in words, and restores one with its reason", async () => {
    router.state.revisions.unshift({ ...router.state.revisions[0]!, revision: 2, message: "raised" });
    router.state.revisions[1]!.state = "past";
    const user = userEvent.setup();
    renderAt("/history?from=1&to=2");
    expect(await screen.findByText("10M")).toBeInstanceOf(HTMLElement);
    expect(screen.getByText("20M")).toBeInstanceOf(HTMLElement);
    await user.click(screen.getByRole("button", { name: "Restore revision 1" }));
    const dialog = await screen.findByRole("dialog");
    await user.clear(within(dialog).getByLabelText("Why"));
    await user.type(within(dialog).getByLabelText("Why"), "it was better before");
    await waitFor(() =>
      expect(within(dialog).getByRole("button", { name: "Restore" }).hasAttribute("disabled")).toBe(false),
    );
    await user.click(within(dialog).getByRole("button", { name: "Restore" }));
    await waitFor(() => expect(router.state.revisions[0]?.message).toBe("it was better before"));
    expect(router.state.revisions[0]?.restores).toBe(1);
  });
});

describe("users and tokens", () => {
  it("show a secret once", async () => {
    const user = userEvent.setup();
    renderAt("/users?tab=tokens");
    await user.type(await screen.findByLabelText(/What for/), "billing");
    await user.click(screen.getByRole("button", { name: "Create" }));
    expect((await screen.findByTestId("secret")).textContent).toBe("weir_secret");
    await user.click(screen.getByRole("button", { name: "I have kept it" }));
    expect(screen.queryByTestId("secret")).toBeNull();
  });

  it("ask once before a token is revoked", async () => {
    const user = userEvent.setup();
    renderAt("/users?tab=tokens");
    await user.click(await screen.findByRole("button", { name: "Revoke billing" }));
    const dialog = await screen.findByRole("dialog");
    await user.click(within(dialog).getByRole("button", { name: "Revoke" }));
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  it("make a user with a one-time password", async () => {
    const user = userEvent.setup();
    renderAt("/users");
    await user.type(await screen.findByLabelText(/User name/), "eve");
    await user.click(screen.getByRole("button", { name: /^Create/ }));
    expect((await screen.findByTestId("secret")).textContent).toBe("correct-horse");
  });
});

describe("forms of the network", () => {
  it("refuse a port that is none at its field, and stage what is right", async () => {
    const user = userEvent.setup();
    renderAt("/firewall");
    await user.click(await screen.findByRole("button", { name: "Add to Open TCP ports" }));
    await user.type(screen.getByRole("textbox", { name: "Open TCP ports 1" }), "70000");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    expect((await screen.findAllByText(/from 1 to 65,535/)).length).toBeGreaterThan(0);
    expect(screen.queryByRole("region", { name: "Pending changes" })).toBeNull();
    await user.clear(screen.getByRole("textbox", { name: "Open TCP ports 1" }));
    await user.type(screen.getByRole("textbox", { name: "Open TCP ports 1" }), "22");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    expect((await screen.findByRole("region", { name: "Pending changes" })).textContent).toContain(
      "1 change: 1 firewall policy",
    );
  });
});

describe("the search", () => {
  it("finds a queue by its name and goes there", async () => {
    const queue = customer();
    const user = userEvent.setup();
    renderAt("/about");
    await screen.findByRole("heading", { name: "About" });
    await user.keyboard("/");
    await user.type(await screen.findByRole("combobox", { name: "Search everything" }), queue.name);
    await screen.findAllByRole("option", { name: new RegExp(queue.name) });
    await user.keyboard("{Enter}");
    expect(await screen.findByRole("heading", { level: 1, name: new RegExp(queue.name) })).toBeInstanceOf(
      HTMLElement,
    );
  });
});

describe("the overview", () => {
  it("says nothing of now when nothing is measured", async () => {
    router.state.staleSince = 1_000;
    renderAt("/");
    await waitFor(() => expect(screen.getAllByText(/^No measurements yet\./)).toHaveLength(3));
    expect(screen.queryByText("No queue is losing packets.")).toBeNull();
  });
});
