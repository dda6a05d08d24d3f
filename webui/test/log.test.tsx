// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { LogLine } from "@/api/types";
import { joined } from "@/pages/log/followed";
import { lineText, visible } from "@/pages/log/logText";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const lineOf = (number: number, text: string | null, more: Partial<LogLine> = {}): LogLine => ({
  cursor: `c${number}`,
  at: new Date(Date.UTC(2026, 10, 27, 12, 0, number)).toISOString(),
  severity: "info",
  source: "weir-agent",
  process: "weir-agent",
  pid: "7",
  text,
  ...more,
});
const said = () =>
  screen.getAllByRole("listitem").flatMap((row) => ("line" in row.dataset ? [row.textContent] : []));
const lines = () => within(screen.getByRole("list", { name: "Lines of the log" }));

/** Polls come as fast as the test wants them. */
const soon = () => vi.advanceTimersByTimeAsync(2_100);

afterEach(() => vi.useRealTimers());

describe("the log", () => {
  it("shows the newest line last, with time, severity and process, and goes on by itself", async () => {
    router.state.log = [
      lineOf(1, "it begins"),
      lineOf(2, "a link is down", { severity: "warning", source: "kernel", process: "kernel", pid: "" }),
    ];
    vi.useFakeTimers({ shouldAdvanceTime: true });
    renderAt("/log");
    await screen.findByText("a link is down");
    expect(said()[0]).toContain("weir-agent[7]it begins");
    expect(said()[1]).toContain("warningkernela link is down");
    router.state.log = [...router.state.log, lineOf(3, "it is up again")];
    await soon();
    await screen.findByText("it is up again");
    expect(said()).toHaveLength(3);
  });

  it("keeps its filters in the address and asks the router for them", async () => {
    router.state.log = [
      lineOf(1, "a"),
      lineOf(2, "of bgp", { source: "frr", severity: "error" }),
      lineOf(3, "of ospf", { source: "frr" }),
    ];
    const { history } = renderAt("/log?severity=error&source=frr");
    await screen.findByText("of bgp");
    expect(screen.queryByText("of ospf")).toBeNull();
    const user = userEvent.setup();
    await user.selectOptions(screen.getByRole("combobox", { name: "Severity" }), "info and worse");
    await screen.findByText("of ospf");
    expect(history.location.search).toBe("?source=frr");
    const search = screen.getByRole("searchbox", { name: /^Search the log/ });
    await user.type(search, "bgp");
    await waitFor(() => expect(screen.queryByText("of ospf")).toBeNull());
    expect(history.location.search).toContain("q=bgp");
    expect(document.activeElement).toBe(search);
  });

  it("stands still while it is paused, and misses nothing of what came meanwhile", async () => {
    router.state.log = [lineOf(1, "first")];
    vi.useFakeTimers({ shouldAdvanceTime: true });
    const user = userEvent.setup({ advanceTimers: vi.advanceTimersByTime });
    renderAt("/log");
    await screen.findByText("first");
    await user.click(screen.getByRole("button", { name: "Pause" }));
    router.state.log = [...router.state.log, lineOf(2, "second"), lineOf(3, "third")];
    await soon();
    await soon();
    expect(screen.queryByText("second")).toBeNull();
    expect(screen.getByText(/^Paused at/)).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Go on" }));
    await screen.findByText("third");
    expect(said()).toHaveLength(3);
  });

  it("says since when nothing is known, keeps what it has, and goes on with the agent", async () => {
    router.state.log = [lineOf(1, "before")];
    vi.useFakeTimers({ shouldAdvanceTime: true });
    renderAt("/log");
    await screen.findByText("before");
    const kept = router.state.log;
    router.state.log = null;
    await soon();
    expect((await screen.findByRole("alert")).textContent).toMatch(
      /^No data since \d\d:\d\d:\d\d: the agent does not answer\.$/,
    );
    expect(screen.getByText("before")).toBeTruthy();
    router.state.log = [...kept, lineOf(2, "after")];
    await soon();
    await screen.findByText("after");
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("does not say that nothing was logged where nobody knows", async () => {
    router.state.log = null;
    renderAt("/log");
    expect((await screen.findByRole("alert")).textContent).toBe(
      "The log could not be read: the agent does not answer.",
    );
    expect(screen.queryByText(/^Nothing/)).toBeNull();
  });

  it("says of what it is that there is nothing", async () => {
    router.state.log = [];
    const { unmount } = renderAt("/log");
    await screen.findByText("Nothing was logged");
    unmount();
    router.state.log = [lineOf(1, "a"), lineOf(2, "b")];
    renderAt("/log?q=zebra").unmount();
    const second = renderAt("/log?q=zebra");
    await screen.findByText("Nothing that fits was logged");
    second.unmount();
    router.state.logIsCut = true;
    renderAt("/log?q=yak");
    await screen.findByText("Nothing fits among the newest 2 lines");
    expect(screen.getByText(/^The search went back to 2026-11-27/)).toBeTruthy();
  });

  it("shows what is no text as what it is, and obeys none of it", async () => {
    const odd = "<script>alert(1)</script>\u001b[31m\u202eevil\n2026-11-27 forged";
    router.state.log = [lineOf(1, odd), lineOf(2, null)];
    renderAt("/log");
    await screen.findByText("<script>alert(1)</script>\\x1b[31m\\u202eevil\\n2026-11-27 forged");
    expect(document.querySelector("script")).toBeNull();
    expect(screen.getByText("A line of more than 4,096 bytes, which is not shown")).toBeTruthy();
    expect(visible("a\u007f\u0085\u200b\ufeff")).toBe("a\\x7f\\x85\\u200b\\ufeff");
  });

  it("is gone through and copied by keys alone", async () => {
    router.state.log = [lineOf(1, "one"), lineOf(2, "two"), lineOf(3, "three\u001b")];
    const copied: string[] = [];
    // jsdom has none.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    document.execCommand = vi.fn(() => {
      const event = new Event("copy") as ClipboardEvent;
      Object.defineProperty(event, "clipboardData", {
        value: { setData: (_: string, text: string) => copied.push(text) },
      });
      return document.dispatchEvent(event);
    });
    renderAt("/log");
    const row = (await screen.findByText("two")).closest("li")!;
    const user = userEvent.setup();
    expect(
      lines()
        .getAllByRole("listitem")
        .filter((item) => item.tabIndex === 0),
    ).toHaveLength(1);
    lines().getAllByRole("listitem").at(-1)!.focus();
    await user.keyboard("{Control>}c{/Control}");
    await user.keyboard("k");
    expect(document.activeElement).toBe(row);
    await user.keyboard("{Enter}");
    await user.click(await screen.findByRole("menuitem", { name: /^Copy the line/ }));
    expect(copied).toEqual([lineText(router.state.log[2]!), lineText(router.state.log[1]!)]);
    expect(copied[0]).toContain("info weir-agent weir-agent[7]: three\\x1b");
  });

  it("leads from a line to all of its source", async () => {
    router.state.log = [lineOf(1, "one"), lineOf(2, "two", { source: "frr", process: "bgpd" })];
    const { history } = renderAt("/log");
    const user = userEvent.setup();
    await user.pointer({ keys: "[MouseRight]", target: await screen.findByText("two") });
    await user.click(await screen.findByRole("menuitem", { name: "Only lines of frr" }));
    await waitFor(() => expect(screen.queryByText("one")).toBeNull());
    expect(history.location.search).toBe("?source=frr");
  });

  it("keeps a bounded number of lines and bytes, the newest", () => {
    const many = Array.from({ length: 1_500 }, (_, number) => lineOf(number, "x"));
    expect(joined([], many)).toHaveLength(1_000);
    expect(joined(many.slice(0, 900), many.slice(900)).at(-1)).toBe(many.at(-1));
    const long = Array.from({ length: 1_000 }, (_, number) => lineOf(number, "x".repeat(4_000)));
    expect(joined([], long)).toHaveLength(250);
    expect(joined([], long).at(-1)).toBe(long.at(-1));
  });

  it("is not asked for by who may only read", async () => {
    let asked = 0;
    router.server.use(
      http.get("*/api/v1/auth/me", () =>
        HttpResponse.json({
          username: "eye",
          scope: "read",
          via: "session",
          must_change_password: false,
          csrf_token: "csrf",
        }),
      ),
      http.get("*/api/v1/diagnosis/log", () => {
        asked += 1;
        return HttpResponse.error();
      }),
    );
    renderAt("/log");
    await screen.findByText("Your account may not read the log");
    expect(asked).toBe(0);
  });

  it("is found by Ctrl-K, also with an address", async () => {
    router.state.log = [lineOf(1, "lease of 10.64.0.7 ended"), lineOf(2, "other")];
    const { history } = renderAt("/hosts");
    const user = userEvent.setup();
    await screen.findByRole("heading", { name: "Hosts" });
    await user.keyboard("{Control>}k{/Control}");
    await user.type(await screen.findByRole("combobox", { name: "Search everything" }), "10.64.0.7");
    await user.click(await screen.findByText("Log lines with 10.64.0.7"));
    await screen.findByText("lease of 10.64.0.7 ended");
    expect(screen.queryByText("other")).toBeNull();
    expect(history.location.href).toBe("/log?q=10.64.0.7");
  });
});
