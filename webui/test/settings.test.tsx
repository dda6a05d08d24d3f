// SPDX-License-Identifier: Apache-2.0
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { readQueue, valuesOf } from "@/forms/queueValues";
import { draftOfObject, readDraft, type Entry } from "@/kinds/form/draft";
import { DECLARED } from "@/kinds/kinds";
import { typeWords } from "@/kinds/queue-type/words";
import { stateOf } from "@/pages/tuning/settings";
import type { QueueType, Setting } from "@/api/types";
import { browserWords } from "@/ui/words";
import { TUNING } from "./mock/network";
import { HIGH_PX, mockRouter, renderAt } from "./render";
import { mockQueue, NO_TOTAL } from "./mock/state";

const router = mockRouter(12, HIGH_PX);
const staged = (kind: string, id: string) => router.state.staged.get(`${kind}/${id}`)?.new;

describe("the tuning page", () => {
  it("overrides one setting as a pending change, and keeps the other overrides", async () => {
    const user = userEvent.setup();
    renderAt("/tuning?edit=backlog");
    const drawer = await screen.findByRole("dialog", { name: "backlog" });
    expect(drawer.textContent).toContain("one card may hand over so many packets");
    const value = within(drawer).getByRole("textbox", { name: "Value" });
    await user.clear(value);
    await user.type(value, "600");
    await user.click(within(drawer).getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("tuning", "tuning")).toEqual({ overrides: { "ring-rx": "2048", backlog: "600" } }),
    );
  });

  it("gives a setting back to the product", async () => {
    const user = userEvent.setup();
    renderAt("/tuning?edit=ring-rx");
    await user.click(await screen.findByRole("button", { name: "Back to max" }));
    await waitFor(() => expect(staged("tuning", "tuning")).toEqual({ overrides: {} }));
  });

  it("shows what is not as wanted, by its worst place", async () => {
    expect(TUNING.settings.map((setting: Setting) => stateOf(setting))).toEqual(["applied", "refused", null]);
    renderAt("/tuning?show=differs");
    expect(await screen.findByRole("button", { name: "ring-rx" })).toBeInstanceOf(HTMLElement);
    expect(screen.queryByRole("button", { name: "backlog" })).toBeNull();
  });
});

describe("the backup page", () => {
  it("says what a file would do before it restores it, with a timer unless told otherwise", async () => {
    const user = userEvent.setup();
    renderAt("/backup");
    await user.upload(await screen.findByLabelText("Backup to restore"), new File(["weir"], "core.weir"));
    const form = await screen.findByRole("form", { name: "Restore" });
    expect(form.textContent).toContain("2 added, 1 removed");
    expect(router.state.restored).toBeNull();
    await user.click(within(form).getByRole("button", { name: /^Restore/ }));
    await waitFor(() => expect(router.state.restored).toBe("60"));
  });
});

describe("a queue type's form", () => {
  const type: QueueType = {
    id: "pcq-down",
    type: "pcq",
    options: {
      "pcq-classifier": "dst-address",
      "pcq-rate": "2M",
      "pcq-dst-address-mask": "24",
      "pcq-total-limit": "2000KiB",
    },
    comment: "",
    etag: "r1",
    enforcement: [],
    used_by: 0,
    warnings: [],
  };
  const declared = DECLARED.get("queue-type")!;
  it("goes round unchanged, with options that it does not know", () => {
    expect(readDraft(declared, draftOfObject(declared, { ...type }))).toEqual({
      id: "pcq-down",
      input: { type: "pcq", options: type.options, comment: "" },
      messages: {},
    });
  });
  it("leaves out what was typed for another kind, and keeps what was stored", () => {
    const draft = draftOfObject(declared, { ...type, options: { "pcq-rate": "2M", "cake-nat": "yes" } });
    const typed: Entry[] = [...(draft["options"] as Entry[]), { key: "sfq-allot", value: "1500" }];
    const read = (kind: string) =>
      readDraft(declared, { ...draft, type: kind, options: typed }).input["options"];
    expect(read("pcq")).toEqual({ "pcq-rate": "2M", "cake-nat": "yes" });
    expect(read("sfq")).toEqual({ "sfq-allot": "1500", "cake-nat": "yes" });
  });
  it("says what a pcq does", () => {
    expect(typeWords(type)).toBe("a sub-queue for each destination /24: 2 Mbit/s each, 50KiB wait");
    expect(typeWords({ type: "pcq", options: {} })).toContain("each source address: equal shares");
  });
  it.each([
    ["pcq-rate", "fast", true],
    ["pcq-rate", "5M", false],
    ["pcq-limit", "50 KiB", false],
    ["pcq-limit", "x", true],
    ["pcq-src-address-mask", "33", true],
    ["pcq-burst-time", "10s", false],
  ])("checks %s=%s", (name, text, wrong) => {
    const { messages } = readDraft(declared, draftOfObject(declared, { ...type, options: { [name]: text } }));
    expect(Object.keys(messages)).toEqual(wrong ? [`options.${name}`] : []);
  });
  it("stages the options of its kind only", async () => {
    const user = userEvent.setup();
    renderAt("/queue-types?edit=new");
    await user.type(await screen.findByRole("textbox", { name: /^Name/ }), "half");
    await user.type(screen.getByRole("textbox", { name: /^Limit of each sub-queue/ }), "512k");
    await user.click(screen.getByRole("button", { name: "Stage the change" }));
    await waitFor(() =>
      expect(staged("queue-type", "half")).toEqual({
        type: "pcq",
        options: { "pcq-classifier": "dst-address", "pcq-rate": "512k" },
        comment: "",
      }),
    );
  });
});

describe("the list of queue types", () => {
  it("says which kinds are kept on none of the interfaces", async () => {
    renderAt("/queue-types");
    expect(await screen.findByText(/Not enforced: cake is a qdisc below HTB/)).toBeTruthy();
  });

  it("says where packets wait and why, and that the default is that of all others", async () => {
    const item = (id: string, more: object) => ({
      id,
      type: "pfifo",
      options: {},
      comment: "",
      etag: "r1",
      used_by: 0,
      enforcement: [],
      warnings: [],
      ...more,
    });
    const items = [
      item("default-small", { etag: "built-in" }),
      item("gaming", {
        type: "sfq",
        used_by: 2,
        enforcement: [{ field: "type", enforced: true, note: "sfq below HTB on lan0, whose shaper is htb" }],
      }),
      item("spare", {
        etag: "built-in",
        enforcement: [{ field: "type", enforced: true, note: "of no use yet" }],
      }),
    ];
    router.server.use(
      http.get("*/api/v1/queue-types", () => HttpResponse.json({ items, next_cursor: null, total: 3 })),
    );
    renderAt("/queue-types");
    const table = await screen.findByRole("grid", { name: /queue types/i });
    expect(
      within(table).getByText("sfq below HTB on lan0, whose shaper is htb.").closest("[role=row]")!
        .textContent,
    ).toContain("gaming");
    expect(within(table).getByText("all others").closest("[role=row]")!.textContent).toContain(
      "default-small",
    );
    expect(within(table).queryByText(/of no use yet/)).toBeNull();
  });
});

describe("the total limits of a queue", () => {
  const queue = mockQueue("q1", {
    total: {
      ...NO_TOTAL,
      max_limit_bps: 5_000_000,
      burst_limit_bps: 8_000_000,
      burst_threshold_bps: 4_000_000,
      burst_time_ms: 8_000,
      priority: 3,
    },
  });
  it("go round unchanged", () => expect(readQueue(valuesOf(queue), null).input.total).toEqual(queue.total));
  it("name the field that is wrong", () => {
    const values = valuesOf(queue);
    expect(
      Object.keys(
        readQueue({ ...values, total: { ...values.total, priority: "9", max_limit_bps: "10MB" } }, null)
          .messages,
      ).sort(),
    ).toEqual(["total.max_limit_bps", "total.priority"]);
  });
});

describe("a browser's name", () => {
  it.each([
    [
      "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/128.0.0.0 Safari/537.36",
      "Chrome 128 on Linux",
    ],
    [
      "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Version/17.0 Mobile/15E148 Safari/604.1",
      "Safari 17 on iOS",
    ],
    ["curl/8.5", "curl/8.5"],
  ])("%s is %s", (agent, words) => expect(browserWords(agent)).toBe(words));
});
