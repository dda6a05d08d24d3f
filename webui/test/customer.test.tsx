// SPDX-License-Identifier: Apache-2.0
import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { setSession } from "@/api/session";
import type { Pair, QueueStats } from "@/api/types";
import { usedText } from "@/pages/queue/used";
import { statsOf } from "./mock/live";
import { mockQueue } from "./mock/state";
import { FakeEventSource, mockRouter, renderAt } from "./render";

const router = mockRouter();
const aQueue = () => [...router.state.queues.values()].at(-1)!;
const M = 1e6;

describe("the live figures", () => {
  const LIMITS: Pair<number> = { upload: 10 * M, download: 50 * M };
  const measured = (name: string, download: number, change: Partial<QueueStats> = {}) => ({
    name,
    limits: LIMITS,
    stats: { ...statsOf(mockQueue("q", {}), 0), rate_bps: { upload: M, download }, ...change },
  });
  const none = { name: "q", limits: LIMITS, stats: null };
  const busy = { drops_ps: { upload: 3, download: 12 }, delay_us: { upload: 400_000, download: 400_000 } };

  it.each([
    ["are of both directions", measured("a", 12 * M), [], "↑ 1.00M of 10M, ↓ 12.0M of 50M."],
    [
      "name no limit where there is none",
      { ...measured("a", 12 * M), limits: { upload: 10 * M, download: 0 } },
      [],
      "↑ 1.00M of 10M, ↓ 12.0M.",
    ],
    [
      "are of the parents as well",
      measured("a", 12 * M),
      [measured("Tower", 25 * M)],
      "↑ 1.00M of 10M, ↓ 12.0M of 50M; Tower above it: ↑ 1.00M of 10M, ↓ 25.0M of 50M.",
    ],
    [
      "do not judge a full line with losses and delays below a full parent",
      measured("a", 49 * M, busy),
      [measured("Tower", 48 * M, busy)],
      "↑ 1.00M of 10M, ↓ 49.0M of 50M; Tower above it: ↑ 1.00M of 10M, ↓ 48.0M of 50M.",
    ],
    ["are not known before the first", none, [], "Not known yet: nothing of this queue was measured."],
    [
      "are not known of a queue that is not measured",
      measured("a", M, { live: false }),
      [],
      "Not known: the router measures nothing of this queue now.",
    ],
    [
      "do not speak of a parent without figures",
      measured("a", 12 * M),
      [none, measured("Tower", M, { live: false })],
      "↑ 1.00M of 10M, ↓ 12.0M of 50M.",
    ],
  ])("%s", (_name, queue, above, text) => {
    expect(usedText(queue, above)).toBe(text);
  });

  it("stand below the answer, and are not known while the router measures nothing", async () => {
    const queue = aQueue();
    renderAt(`/queues/${queue.id}`);
    const used = await screen.findByTestId("used");
    const answer = await screen.findByText(/^It is not this router\./);
    expect(answer.compareDocumentPosition(used)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
    await waitFor(() => expect(FakeEventSource.last?.url).toContain(queue.id));
    const at = 1_767_362_531;
    const send = (name: string, data: object) => act(() => FakeEventSource.last?.send(name, data));
    send("queues", { at, stale_since: null, stale_reason: null, items: [statsOf(queue, at)] });
    expect(used.textContent).toMatch(/^↑ .+, ↓ /);
    send("stale", { at: at + 5, since: at, reason: "the agent does not answer" });
    expect(used.textContent).toMatch(/^Not known: no live data since/);
  });

  it("of a disabled queue are none, and nothing is asked about it", async () => {
    const queue = aQueue();
    queue.disabled = true;
    renderAt(`/queues/${queue.id}`);
    const used = await screen.findByTestId("used");
    expect(used.textContent).toBe("This queue is disabled: it limits nobody and nothing of it is measured.");
    expect(screen.queryByText("Why slow?")).toBeNull();
  });
});

describe("a raise", () => {
  it("doubles the limit for an hour unless told otherwise, and is taken back", async () => {
    const user = userEvent.setup();
    const queue = aQueue();
    renderAt(`/queues/${queue.id}`);
    await user.click(await screen.findByRole("button", { name: "Raise for 1 h" }));
    const dialog = within(await screen.findByRole("dialog", { name: `Raise the limit of ${queue.name}` }));
    expect(dialog.getByRole<HTMLSelectElement>("combobox", { name: "For" }).value).toBe("3600");
    await user.click(dialog.getByRole("button", { name: "Raise now" }));
    const note = (await screen.findByText(/^Raised by admin to/)).closest("div")!;
    const raised = router.state.queues.get(queue.id)!.max_limit_bps;
    expect(raised).toEqual({
      upload: queue.max_limit_bps.upload * 2,
      download: queue.max_limit_bps.download * 2,
    });
    await user.click(within(note.parentElement!).getByRole("button", { name: "Lower it now" }));
    await waitFor(() => expect(screen.queryByText(/^Raised by admin/)).toBeNull());
    expect(router.state.queues.get(queue.id)!.max_limit_bps).toEqual(queue.max_limit_bps);
  });

  it("that the router refuses says why and keeps what was typed", async () => {
    const user = userEvent.setup();
    const queue = aQueue();
    renderAt(`/queues/${queue.id}`);
    await user.click(await screen.findByRole("button", { name: "Raise for 1 h" }));
    const field = await screen.findByRole<HTMLInputElement>("textbox", { name: "Limit, upload" });
    await user.clear(field);
    await user.type(field, "1k{Enter}");
    expect((await screen.findByRole("alert")).textContent).toContain("A raise needs more");
    expect(field.value).toBe("1k");
  });

  it("that cannot go back yet says why", async () => {
    const queue = aQueue();
    router.state.raises = [
      {
        queue_id: queue.id,
        max_limit_bps: { upload: 0, download: 90 * M },
        before_bps: queue.max_limit_bps,
        author: "anna",
        begun_at: "2026-01-01T10:00:00Z",
        until: "2026-01-01T11:00:00Z",
        seconds_left: 0,
        held_up: "the agent does not answer",
      },
    ];
    renderAt(`/queues/${queue.id}`);
    expect((await screen.findByText(/^Raised by anna/)).textContent).toMatch(
      /unlimited .*its time is over.*It cannot go back yet: The agent does not answer\./,
    );
  });
});

describe("the hosts of a queue", () => {
  it("are those whose address it limits", async () => {
    const queue = aQueue();
    const [target = ""] = queue.target;
    const address = target.replace(/\/\d+$/, "");
    const host = (id: string, owner: string) => ({
      id,
      interface: "lan0",
      mac: id,
      confirmed_s: 1,
      addresses: [
        {
          address,
          name: null,
          state: "reachable" as const,
          confirmed_s: 1,
          queue: { id: owner, name: owner },
        },
      ],
    });
    // The mock finds hosts by text, so it is asked as a prefix of one address.
    router.state.hosts = [host("02:00:00:00:00:07", queue.id), host("02:00:00:00:00:08", "other")].map(
      (item) => ({
        ...item,
        id: `${item.id} ${target}`,
      }),
    );
    renderAt(`/queues/${queue.id}`);
    expect(await screen.findByText("02:00:00:00:00:07")).toBeTruthy();
    expect(screen.queryByText("02:00:00:00:00:08")).toBeNull();
  });

  it("are not said to be none while the agent does not answer", async () => {
    router.state.hosts = null;
    renderAt(`/queues/${aQueue().id}`);
    expect(
      await screen.findByText("The agent does not answer.", undefined, { timeout: 20_000 }),
    ).toBeTruthy();
    expect(screen.queryByText(/has no host of this queue/)).toBeNull();
  });
});

describe("the sign-in page", () => {
  it.each([
    ["core-1", "Sign in · core-1"],
    [undefined, "Sign in · Weir"],
  ])("of a router whose name is %s is called so", async (hostname, title) => {
    router.state.signedIn = false;
    router.state.hostname = hostname;
    renderAt("/sign-in");
    await waitFor(() => expect(document.title).toBe(title));
    expect((await screen.findByRole("heading", { level: 1 })).textContent).toContain(hostname ?? "Weir");
  });

  it("shows the router's notice before a password is asked for, as text", async () => {
    const notice = "Authorised persons only.\n<script>document.title = 'taken'</script>";
    router.state.signedIn = false;
    router.state.banner = notice;
    renderAt("/sign-in");
    const shown = await screen.findByText(/Authorised persons only/);
    expect(shown.textContent).toBe(notice);
    expect(shown.querySelector("script")).toBeNull();
  });

  it("says that the router is starting until its notice is known", async () => {
    let asked = 0;
    router.server.use(
      http.get("*/api/v1/system/name", () => {
        asked += 1;
        if (asked > 1)
          return HttpResponse.json({ hostname: "edge", login_banner: "Authorised persons only." });
        return HttpResponse.json(
          { status: 503, code: "starting", detail: "Weir is starting.", path: null, findings: [] },
          { status: 503 },
        );
      }),
    );
    router.state.signedIn = false;
    renderAt("/sign-in");
    expect(await screen.findByText(/The router is starting/)).toBeTruthy();
    expect(screen.getByLabelText(/Password/)).toBeTruthy();
    expect(await screen.findByText("Authorised persons only.", undefined, { timeout: 3000 })).toBeTruthy();
    expect(screen.queryByText(/The router is starting/)).toBeNull();
  });

  it("shows it where the password is asked for again, over the page", async () => {
    router.state.banner = "Authorised persons only.";
    renderAt("/");
    await screen.findByRole("heading", { name: "Overview" });
    act(() => setSession("lost"));
    const dialog = within(await screen.findByRole("dialog", { name: "Your session has ended" }));
    expect(await dialog.findByText("Authorised persons only.")).toBeTruthy();
    expect(dialog.getByLabelText(/Password/)).toBeTruthy();
  });
});
