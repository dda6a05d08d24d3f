// SPDX-License-Identifier: Apache-2.0
import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { queryClient } from "@/api/queries";
import { FakeEventSource, renderAt, mockRouter } from "./render";

const router = mockRouter();

describe("signing in", () => {
  it("shows what was refused, then the page that was asked for", async () => {
    router.state.signedIn = false;
    const user = userEvent.setup();
    renderAt("/sign-in?next=/about");
    await user.type(await screen.findByLabelText(/User name/), "admin");
    await user.type(screen.getByLabelText(/^Password/), "wrong");
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    expect(await screen.findByText("User name or password is wrong.")).toBeInstanceOf(HTMLElement);
    await user.clear(screen.getByLabelText(/^Password/));
    await user.type(screen.getByLabelText(/^Password/), "secret");
    await user.click(screen.getByRole("button", { name: "Sign in" }));
    expect(await screen.findByRole("heading", { name: "About" })).toBeInstanceOf(HTMLElement);
  });

  it("asks for an own password before anything else", async () => {
    router.state.mustChange = true;
    renderAt("/queues");
    expect(await screen.findByRole("heading", { name: "Choose your password" })).toBeInstanceOf(HTMLElement);
    expect(screen.queryByRole("navigation")).toBeNull();
  });
});

describe("the queue list", () => {
  it("says what to do when there is nothing", async () => {
    router.state.queues.clear();
    renderAt("/queues");
    expect(await screen.findByText("No queues yet")).toBeInstanceOf(HTMLElement);
    expect(screen.getByRole("link", { name: "Import a file" })).toBeInstanceOf(HTMLElement);
    await userEvent.setup().keyboard("n");
    expect(await screen.findByRole("dialog", { name: "New queue" })).toBeInstanceOf(HTMLElement);
  });
});

describe("the queue form", () => {
  it("shows the router's errors at their fields", async () => {
    router.state.refuse = [
      {
        severity: "error",
        code: "bad-prefix",
        message: "'10.0.0.300' is not an address",
        kind: "queue",
        id: "q1",
        field: "target",
      },
    ];
    const user = userEvent.setup();
    renderAt("/queues?edit=new");
    await user.type(await screen.findByRole("textbox", { name: /^Name/ }), "x");
    await user.type(screen.getByRole("textbox", { name: /^Target/ }), "10.0.0.300");
    await user.click(screen.getByRole("button", { name: "Stage the queue" }));
    await waitFor(() =>
      expect(screen.getByRole("textbox", { name: /^Target/ }).getAttribute("aria-invalid")).toBe("true"),
    );
    expect(screen.getByText("'10.0.0.300' is not an address")).toBeInstanceOf(HTMLElement);
  });

  it("says how a rate was understood, and what is wrong with it as it is typed", async () => {
    const user = userEvent.setup();
    renderAt("/queues?edit=new");
    const field = await screen.findByRole("textbox", { name: "Limit, download" });
    await user.type(field, "1.5g");
    expect(screen.getByText("1.5 Gbit/s")).toBeInstanceOf(HTMLElement);
    await user.type(field, "x");
    expect(screen.getByText(/is not a rate/)).toBeInstanceOf(HTMLElement);
  });
});

describe("a disk that cannot be written", () => {
  it("is said on every page until it can be", async () => {
    const reason =
      "Changes are refused, and all else goes on. /var/lib/weir/weir.db cannot be written: No space left on device (ENOSPC).";
    router.state.unwritable = reason;
    renderAt("/queues");
    expect((await screen.findByRole("alert")).textContent).toBe(reason);
    router.state.unwritable = null;
    await act(() => queryClient.refetchQueries({ queryKey: ["system"] }));
    await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
  });
});

describe("a commit with a timer", () => {
  it("counts down, and is kept by its button", async () => {
    const user = userEvent.setup();
    renderAt("/about");
    await screen.findByRole("heading", { name: "About" });
    router.state.pending = {
      revision: 2,
      base_revision: 1,
      author: "eve",
      message: "night work",
      started_at: new Date().toISOString(),
      deadline_at: new Date(Date.now() + 60_000).toISOString(),
      window_s: 60,
      seconds_left: 60,
      token: null,
      undo: new Map(),
    };
    act(() => FakeEventSource.last?.send("config", { revision: 1, pending: null }));
    act(() => FakeEventSource.last?.send("config", { revision: 2, pending: router.state.pending }));
    const confirm = await screen.findByRole("region", { name: "Confirmation" });
    expect(confirm.textContent).toMatch(/begun by eve at .*: night work/);
    await user.click(within(confirm).getByRole("button", { name: "Keep" }));
    await waitFor(() => expect(screen.queryByRole("region", { name: "Confirmation" })).toBeNull());
  });
});

describe("every page", () => {
  it.each([
    ["/", "Overview"],
    ["/queue-types", "Queue types"],
    ["/interfaces", "Interfaces"],
    ["/routes", "Routes"],
    ["/firewall", "Firewall"],
    ["/history", "History"],
    ["/tuning", "Tuning"],
    ["/backup", "Backup"],
    ["/maintenance", "Maintenance"],
    ["/users", "Users and tokens"],
    ["/users?tab=tokens", "Users and tokens"],
    ["/diagnostics", "Diagnostics"],
    ["/tools", "Tools"],
    ["/about", "About"],
    ["/account", "Account"],
    ["/import?report=rep1&fate=warning", "Import"],
    ["/nowhere", "No such page"],
  ])("%s opens", async (path, title) => {
    renderAt(path);
    expect(await screen.findByRole("heading", { level: 1, name: title })).toBeInstanceOf(HTMLElement);
    expect(screen.queryByText("This page failed")).toBeNull();
  });
});
