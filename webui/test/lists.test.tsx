// SPDX-License-Identifier: Apache-2.0
import { fireEvent, render, screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { useCallback, useState } from "react";
import { describe, expect, it } from "vitest";
import type { QueuesSearch } from "@/app/search";
import { toggled, unfoldedIn, useUnfolding } from "@/pages/queues/unfolded";
import { TUNING, UPDATES } from "./mock/network";
import { mockQueue } from "./mock/state";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();

describe("the tree's address", () => {
  it("holds what is unfolded", () => {
    expect(toggled(undefined, "tower.1")).toBe("tower.1");
    expect(toggled("tower.1", "room_2")).toBe("tower.1~room_2");
    expect(toggled("tower.1~room_2", "tower.1")).toBe("room_2");
    expect([...unfoldedIn(toggled("room_2", "room_2"))]).toEqual([]);
    expect([...unfoldedIn("tower.1~room_2")]).toEqual(["tower.1", "room_2"]);
  });

  it("stays short enough to be passed on, with what was unfolded last", () => {
    let open: string | undefined;
    for (let number = 0; number < 200; number++)
      open = toggled(open, `some-quite-long-name-of-a-queue-${number}`);
    expect(open!.length).toBeLessThanOrEqual(2_000);
    expect(unfoldedIn(open).has("some-quite-long-name-of-a-queue-199")).toBe(true);
  });

  it("is what the menu brings back in this tab, and what an address that was sent says in any other", () => {
    const Tree = ({ open }: { open?: string }) => {
      const [search, setSearch] = useState<QueuesSearch>({ view: "tree", open });
      const onSearch = useCallback(
        (change: Partial<QueuesSearch>) => setSearch((before) => ({ ...before, ...change })),
        [],
      );
      const toggle = useUnfolding({ ...search, shown: search.open }, onSearch);
      return (
        <button type="button" onClick={() => toggle("room")}>
          {search.open ?? "folded"}
        </button>
      );
    };
    const before = render(<Tree />);
    fireEvent.click(screen.getByRole("button", { name: "folded" }));
    expect(screen.getByRole("button", { name: "room" })).toBeInstanceOf(HTMLElement);
    before.unmount();
    const back = render(<Tree />);
    expect(screen.getByRole("button", { name: "room" })).toBeInstanceOf(HTMLElement);
    back.unmount();
    render(<Tree open="tower" />);
    expect(screen.getByRole("button", { name: "tower" })).toBeInstanceOf(HTMLElement);
  });
});

it("a queue's form names the others that hold any of its addresses", async () => {
  router.state.queues.set("other", mockQueue("other", { name: "other", target: ["2001:db8:77::/48"] }));
  renderAt("/queues?edit=new");
  fireEvent.change(await screen.findByRole("textbox", { name: /^Target/ }), {
    target: { value: "192.0.2.7\n2001:db8:77::/48" },
  });
  const hint = (await screen.findByText("2001:db8:77::/48", { selector: "span" })).closest("p")!;
  expect(within(hint).getByRole("link", { name: "other" })).toBeInstanceOf(HTMLElement);
});

it("select all says how many it did not take", async () => {
  const all = Array.from({ length: 1000 }, (_, number) =>
    mockQueue(`q${number}`, { name: `customer ${number}` }),
  );
  const pages = (total: number) =>
    http.get("*/api/v1/queues", ({ request }) => {
      const query = new URL(request.url).searchParams;
      const offset = Number(query.get("offset") ?? 0);
      const items = all
        .slice(0, Math.min(Number(query.get("limit") ?? 100), total - offset))
        .map((queue, number) => ({ ...queue, id: `q${offset + number}` }));
      return HttpResponse.json({ items, next_cursor: null, total });
    });
  router.server.use(pages(100_422));
  renderAt("/queues");
  const box = await screen.findByRole("checkbox", { name: "Select all that match" });
  fireEvent.click(box);
  expect(await screen.findByText(/10.000 queues selected of 100.422 that match/)).toBeInstanceOf(HTMLElement);
  expect(screen.getByText(/One edit takes no more/)).toBeInstanceOf(HTMLElement);
  expect((box as HTMLInputElement).checked).toBe(false);
  fireEvent.click(screen.getByRole("button", { name: "Clear" }));
  router.server.use(pages(1_500));
  fireEvent.click(box);
  expect(await screen.findByText(/^1.500 queues selected$/)).toBeInstanceOf(HTMLElement);
});

it("the first steps leave out what the first setup has done", async () => {
  router.state.queues.clear();
  renderAt("/");
  expect(await screen.findByRole("heading", { name: "Nothing is limited yet" })).toBeInstanceOf(HTMLElement);
  await waitFor(() => expect(screen.queryByText(/face the customers/)).toBeNull());
});

it("a slot that is being written is not said to have failed", async () => {
  const [running] = UPDATES.slots;
  router.server.use(
    http.get("*/api/v1/system/update", () =>
      HttpResponse.json({
        ...UPDATES,
        slots: [running, { name: "B", booted: false, good: false, version: "0.3.0", installed_at: null }],
        job: { ...UPDATES.job, state: "installing", percent: 5, what: "Checking" },
      }),
    ),
  );
  renderAt("/update");
  await screen.findByRole("progressbar");
  expect(screen.queryByText(/is not started/)).toBeNull();
});

it("an empty list says why it is empty", async () => {
  router.server.use(
    http.get("*/api/v1/tuning", () => HttpResponse.json({ ...TUNING, overrides: {}, settings: [] })),
  );
  const page = renderAt("/tuning");
  expect(await screen.findByText("No settings are known")).toBeInstanceOf(HTMLElement);
  page.unmount();
  renderAt("/tuning?show=overridden");
  expect(await screen.findByText("Nothing is overridden")).toBeInstanceOf(HTMLElement);
});
