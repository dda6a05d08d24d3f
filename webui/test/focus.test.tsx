// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it, vi } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const heading = (name: string) => screen.findByRole("heading", { level: 1, name });

describe("the focus", () => {
  it("goes to the heading of the page that was asked for after the sign-in", async () => {
    router.state.signedIn = false;
    const user = userEvent.setup();
    renderAt("/sign-in?next=/about");
    await user.type(await screen.findByLabelText(/User name/), "admin");
    await user.type(screen.getByLabelText(/^Password/), "secret{Enter}");
    const about = await heading("About");
    await waitFor(() => expect(document.activeElement).toBe(about));
  });

  it("goes to the heading where a link led to another page", async () => {
    const user = userEvent.setup();
    renderAt("/");
    await user.click(await screen.findByRole("link", { name: "All interfaces" }));
    const interfaces = await heading("Interfaces");
    await waitFor(() => expect(document.activeElement).toBe(interfaces));
  });

  it("goes back to the field after a commit, whose bar is gone with its button", async () => {
    const user = userEvent.setup();
    renderAt("/firewall");
    await user.click(await screen.findByRole("button", { name: "Add to Open TCP ports" }));
    await user.type(screen.getByRole("textbox", { name: "Open TCP ports 1" }), "22");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    const bar = await screen.findByRole("region", { name: "Pending changes" });
    await user.click(within(bar).getByRole("button", { name: "Commit" }));
    await user.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Commit" }));
    await waitFor(() => expect(screen.queryByRole("region", { name: "Pending changes" })).toBeNull());
    await waitFor(() => expect(document.activeElement).not.toBe(document.body));
    expect(document.activeElement?.closest("main")).not.toBeNull();
  });

  it("goes to the table with the keys of its rows, and back there after Escape from a drawer", async () => {
    const user = userEvent.setup();
    renderAt("/queues");
    const grid = await screen.findByRole("grid", { name: "Queues" });
    await user.keyboard("j");
    expect(document.activeElement).toBe(grid);
    await user.keyboard("n");
    expect(await screen.findByRole("dialog", { name: "New queue" })).toBeInstanceOf(HTMLElement);
    await user.keyboard("{Escape}");
    await waitFor(() => expect(document.activeElement).toBe(grid));
  });

  it("is looked for no more when the page is gone with what had it", async () => {
    const user = userEvent.setup();
    const { unmount } = renderAt("/firewall");
    await user.type(await screen.findByLabelText(/TCP ports/), "22");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await screen.findByRole("region", { name: "Pending changes" });
    const looked = vi.spyOn(document, "querySelector");
    unmount();
    await new Promise((done) => setTimeout(done, 100));
    expect(looked).not.toHaveBeenCalled();
    looked.mockRestore();
  });
});
