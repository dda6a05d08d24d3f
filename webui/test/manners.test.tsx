// SPDX-License-Identifier: Apache-2.0
import { render, screen, waitFor } from "@testing-library/react";
import { useCallback } from "react";
import { afterEach, describe, expect, it, vi } from "vitest";
import { http, HttpResponse } from "msw";
import { live } from "@/api/live";
import type { Change, Scope } from "@/api/types";
import { chosenColumns, QueueName } from "@/pages/queues/columns";
import { rowsAsText, useCopy } from "@/pages/queues/copy";
import { treeRows, type QueueRow } from "@/pages/queues/rows";
import { statsOf } from "./mock/live";
import { mockQueue } from "./mock/state";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
afterEach(() => vi.restoreAllMocks());

describe("the tree with changes that are not in force", () => {
  const added = (id: string, parent: string | null): [string, Change] => [
    id,
    { kind: "queue", id, name: id, action: "add", fields: [], old: null, new: { name: id, parent } },
  ];
  const tower = mockQueue("tower", { child_count: 1 });
  const child = mockQueue("child", { parent: "tower" });
  const children = new Map([
    ["none", [tower]],
    ["tower", [child]],
  ]);
  const drawn = (expanded: string[], ...staged: [string, Change][]) =>
    treeRows(children, new Set(expanded), new Map(staged)).map(
      (row) => `${"  ".repeat(row.depth)}${row.queue.id}`,
    );

  it("puts a new queue below its parent, unfolded or folded", () => {
    expect(drawn(["tower"], added("hotel", "tower"))).toEqual(["tower", "  child", "  hotel"]);
    expect(drawn([], added("hotel", "tower"))).toEqual(["tower", "  hotel"]);
  });

  it("puts a new queue below a parent that is new itself", () => {
    expect(drawn([], added("room", "hotel"), added("hotel", "tower"))).toEqual([
      "tower",
      "  hotel",
      "    room",
    ]);
  });

  it("loses none: what has no parent on the screen stands on top", () => {
    expect(
      drawn(
        [],
        added("root", null),
        added("deep", "child"),
        added("ring-a", "ring-b"),
        added("ring-b", "ring-a"),
      ),
    ).toEqual(["root", "deep", "ring-a", "  ring-b", "tower"]);
  });
});

describe("a row that is copied", () => {
  it("holds what is seen of it, live numbers too, below a line of titles", () => {
    const queue = mockQueue("acme", {
      name: "acme\tand sons",
      target: ["10.64.1.7/32", "2001:db8::/64"],
      max_limit_bps: { upload: 10e6, download: 50e6 },
      comment: "pays late",
    });
    vi.spyOn(live, "latest").mockReturnValue({
      ...statsOf(queue, 0),
      live: true,
      rate_bps: { upload: 1_230_000, download: 45_600_000 },
    });
    const text = rowsAsText(
      [{ queue, depth: 0, expanded: null, staged: null }],
      chosenColumns("target.limits.rate_upload.rate_download.comment"),
    );
    expect(text.split("\n").map((line) => line.split("\t"))).toEqual([
      ["Name", "Target", "Limit ↑/↓", "Rate ↑", "Rate ↓", "Comment"],
      ["acme and sons", "10.64.1.7 2001:db8::/64", "10M/50M", "1.23M", "45.6M", "pays late"],
    ]);
  });

  it("is taken by Ctrl-C, unless a field has the focus or no row was chosen", () => {
    const row: QueueRow = { queue: mockQueue("acme"), depth: 0, expanded: null, staged: null };
    const columns = chosenColumns("name");
    function Table({ rows }: { rows: QueueRow[] }) {
      useCopy(
        useCallback(() => rows, [rows]),
        columns,
      );
      return <input aria-label="field" />;
    }
    const copied = (): string | null => {
      let held: string | null = null;
      document.dispatchEvent(
        Object.assign(new Event("copy", { cancelable: true }), {
          clipboardData: { setData: (_type: string, text: string) => (held = text) },
        }),
      );
      return held;
    };
    const view = render(<Table rows={[]} />);
    expect(copied()).toBeNull();
    view.rerender(<Table rows={[row]} />);
    expect(copied()).toBe("Name\nacme");
    screen.getByLabelText("field").focus();
    expect(copied()).toBeNull();
  });
});

describe("a row of the list", () => {
  it("says below which queue it is; in the tree its place says so", () => {
    const row: QueueRow = {
      queue: mockQueue("hotel", { parent: "tower", path: [{ id: "tower", name: "North tower" }] }),
      depth: 0,
      expanded: null,
      staged: "add",
    };
    const { rerender } = render(<QueueName row={row} onToggle={() => undefined} />);
    expect(screen.getByTitle("in North tower").textContent).toBe("North tower");
    rerender(<QueueName row={{ ...row, depth: 1 }} onToggle={() => undefined} />);
    expect(screen.queryByText("North tower")).toBeNull();
  });
});

const as = (scope: Scope) =>
  router.server.use(
    http.get("*/api/v1/auth/me", () =>
      HttpResponse.json({
        username: "eve",
        scope,
        via: "session",
        must_change_password: false,
        csrf_token: "csrf",
      }),
    ),
  );

describe("who looks after customers", () => {
  it("changes a limit in a queue's form, and nothing that is not of a plan", async () => {
    as("support");
    renderAt("/queues?edit=q1");
    const limit = await screen.findByRole("textbox", { name: "Limit, upload" });
    await waitFor(() => expect(limit.matches(":disabled")).toBe(false));
    for (const name of [/^Name/, /^Target/, "Destination", "Position"])
      expect(screen.getByRole("textbox", { name, hidden: true }).matches(":disabled")).toBe(true);
    for (const name of ["Comment", "Guaranteed rate, upload", "Burst rate, upload"])
      expect(screen.getByRole("textbox", { name, hidden: true }).matches(":disabled")).toBe(false);
    expect(screen.getByText(/the rest takes the scope write/)).toBeInstanceOf(HTMLElement);
    expect(screen.getByRole("button", { name: "Stage the change" })).toBeInstanceOf(HTMLElement);
    expect(screen.queryByRole("button", { name: "Delete" })).toBeNull();
    expect(screen.queryByRole("button", { name: /New queue/ })).toBeNull();
    expect(screen.getByText("support")).toBeInstanceOf(HTMLElement);
  });

  it("is shown no form of what cannot be changed", async () => {
    as("support");
    renderAt("/routes?edit=new");
    expect(await screen.findByText(/may look at everything here/)).toBeInstanceOf(HTMLElement);
    expect(screen.queryByRole("button", { name: /^Stage/ })).toBeNull();
  });
});

describe("who may only look", () => {
  it.each([
    ["/queues", "Queues", /New queue/],
    ["/queues/q1", "baker 1", /^Edit$/],
    ["/queue-types", "Queue types", /New queue type/],
    ["/routes", "Routes", /New route/],
    ["/firewall", "Firewall", /Stage the change/],
    ["/history", "History", /^Restore/],
    ["/import", "Import", /Choose files/],
    ["/backup", "Backup", /Choose a file/],
    ["/maintenance", "Maintenance", /Restart/],
  ])("%s offers nothing that would be refused", async (path, title, button) => {
    as("read");
    renderAt(path);
    expect(await screen.findByRole("heading", { level: 1, name: title })).toBeInstanceOf(HTMLElement);
    expect(await screen.findByText("read only")).toBeInstanceOf(HTMLElement);
    expect(screen.queryByRole("button", { name: button })).toBeNull();
  });

  it("reads a queue's form and cannot type in it", async () => {
    as("read");
    renderAt("/queues?edit=q1");
    const name = await screen.findByRole("textbox", { name: /^Name/ });
    await waitFor(() => expect(name.matches(":disabled")).toBe(true));
    expect(screen.getByText(/may look at everything/)).toBeInstanceOf(HTMLElement);
    expect(screen.queryByRole("button", { name: "Delete" })).toBeNull();
  });
});

it("says before an import which of its queues would never match", async () => {
  renderAt("/import?report=rep1");
  const fold = await screen.findByText("1 warning about the configuration as it would be");
  expect(screen.getByText(/'typo' never matches/).closest("details")).toBe(fold.closest("details"));
});
