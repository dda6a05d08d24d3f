// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { beforeEach, describe, expect, it } from "vitest";
import { withField } from "@/api/trial";
import { queueInput } from "@/api/writes";
import type { Finding } from "@/api/types";
import { stagedChanges } from "./mock/state";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const GUARANTEE = "the guarantee is more than the limit";
const PREFIX = "'10.0.0.300' is not an address";
/** What validation was asked about, in order. */
let seen: Record<string, unknown>[] = [];

/** As the router does: validation finds an error in every staged queue with a target of 10.9.0.0/16. */
function validate(): void {
  router.server.use(
    http.get("*/api/v1/candidate/diff", () => {
      const changes = stagedChanges(router.state);
      seen.push(...changes.flatMap((change) => (change.new ? [change.new] : [])));
      const findings = changes
        .filter((change) => (change.new?.["target"] as string[] | undefined)?.includes("10.9.0.0/16"))
        .map((change): Finding => ({
          severity: "error",
          code: "guarantee",
          message: GUARANTEE,
          kind: "queue",
          id: change.id,
          field: "limit_at_bps.upload",
        }));
      return HttpResponse.json({
        base_revision: 1,
        head_revision: 1,
        total: changes.length,
        counts: { added: 0, changed: 0, removed: 0 },
        changes,
        next_cursor: null,
        complete: true,
        kernel: {
          available: true,
          reason: null,
          counts: { added: 0, changed: 0, removed: 0 },
          steps: [],
          apply_ms: null,
          verify_ms: null,
        },
        findings,
      });
    }),
  );
}

beforeEach(() => {
  seen = [];
  validate();
});

async function fill(path: string, texts: Record<string, string>, first = "") {
  const user = userEvent.setup();
  renderAt(path);
  if (first) await screen.findByText(first);
  for (const [name, text] of Object.entries(texts)) {
    const field = await screen.findByRole("textbox", { name: new RegExp(`^${name}`) });
    await user.clear(field);
    await user.type(field, text);
  }
  return user;
}

describe("the errors of a form", () => {
  it("stand there all at once: its own and the router's, of a new queue without a name", async () => {
    const user = await fill("/queues?edit=new", { Target: "10.9.0.0/16", "Limit, upload": "oops" });
    await user.click(screen.getByRole("button", { name: "Stage the queue" }));
    expect(await screen.findByText(/the guarantee is more than the limit/i)).toBeInstanceOf(HTMLElement);
    expect(screen.getByText("A queue needs a name.")).toBeInstanceOf(HTMLElement);
    expect(screen.getAllByText(/"oops" is not a rate/).length).toBeGreaterThan(0);
    expect(seen.some((queue) => (queue["max_limit_bps"] as { upload: number }).upload === 0)).toBe(true);
    await waitFor(() => expect(router.state.staged.size).toBe(0));
    expect(localStorage.length).toBe(0);
  });

  it("are judged without touching what was staged of the queue before", async () => {
    const queue = [...router.state.queues.values()][1]!;
    const before = { ...queueInput(queue), comment: "staged before" };
    router.state.staged.set(`queue/${queue.id}`, { kind: "queue", id: queue.id, new: before, etag: "s1" });
    const user = await fill(
      `/queues/${queue.id}?edit=true`,
      { Target: "10.9.0.0/16", "Limit, upload": "oops" },
      "change pending",
    );
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    expect(await screen.findByText(/the guarantee is more than the limit/i)).toBeInstanceOf(HTMLElement);
    await waitFor(() => expect(router.state.staged.get(`queue/${queue.id}`)?.new).toEqual(before));
    expect(
      (
        seen.find((item) => (item["target"] as string[]).includes("10.9.0.0/16"))?.["max_limit_bps"] as {
          upload: number;
        }
      ).upload,
    ).toBe(queue.max_limit_bps.upload);
  });

  it("name what the router cannot read and what it refuses of the rest", async () => {
    router.state.refuse = [
      { severity: "error", code: "bad-prefix", message: PREFIX, kind: "queue", id: "q1", field: "dst" },
    ];
    const user = await fill("/queues?edit=new", { Name: "x", Target: "10.9.0.0/16" });
    await user.click(screen.getByRole("button", { name: "Stage the queue" }));
    expect(await screen.findByText(/the guarantee is more than the limit/i)).toBeInstanceOf(HTMLElement);
    expect(screen.getByText(PREFIX)).toBeInstanceOf(HTMLElement);
    await waitFor(() => expect(router.state.staged.size).toBe(0));
  });

  it("of several places in one field are all said", async () => {
    router.state.refuse = ["'a' is not an address", "'b' is not an address"].map((message, index) => ({
      severity: "error",
      code: "bad-prefix",
      message,
      kind: "queue",
      id: "q1",
      field: `target[${index}]`,
    }));
    const user = await fill("/queues?edit=new", { Name: "x", Target: "a b" });
    await user.click(screen.getByRole("button", { name: "Stage the queue" }));
    expect(await screen.findByText("'a' is not an address 'b' is not an address")).toBeInstanceOf(
      HTMLElement,
    );
  });
});

describe("a trial", () => {
  it("that was cut off is taken back when the page comes again", async () => {
    router.state.staged.set("queue/trial-1", { kind: "queue", id: "trial-1", new: { name: "new-queue" } });
    localStorage.setItem("weir.trial", JSON.stringify({ kind: "queue", id: "trial-1" }));
    renderAt("/queues");
    await waitFor(() => expect(router.state.staged.size).toBe(0));
    await waitFor(() => expect(localStorage.getItem("weir.trial")).toBeNull());
  });

  it("that cannot be taken back now is remembered, and the form's own errors are shown", async () => {
    router.server.use(
      http.delete("*/api/v1/candidate/changes/:kind/:id", () => HttpResponse.error(), { once: true }),
    );
    const user = await fill("/queues?edit=new", { Name: "x", "Limit, upload": "oops" });
    await user.click(screen.getByRole("button", { name: "Stage the queue" }));
    await waitFor(() => expect(localStorage.getItem("weir.trial")).not.toBeNull());
    await waitFor(() =>
      expect(screen.getByRole("textbox", { name: "Limit, upload" }).getAttribute("aria-invalid")).toBe(
        "true",
      ),
    );
    await user.click(screen.getByRole("button", { name: "Stage the queue" }));
    await waitFor(() => expect(router.state.staged.size).toBe(0));
  });

  it("has the old value of a field that is wrong", () => {
    const old = { name: "a", limit: { upload: 1, download: 2 } };
    expect(withField({ name: "", limit: { upload: 9, download: 8 } }, "limit.upload", old)).toEqual({
      name: "",
      limit: { upload: 1, download: 8 },
    });
    expect(withField({ name: "", limit: null }, "limit.upload", old)).toEqual({
      name: "",
      limit: { upload: 1, download: 2 },
    });
    expect(withField({ name: "", vlan: { parent: "" } }, "vlan", {})).toEqual({ name: "" });
  });
});
