// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from "vitest";
import { lampOf } from "@/app/Lamp";
import { ApiProblem, messagesByField } from "@/api/problem";
import { bySecond, withPast } from "@/api/traces";
import type { InterfaceHistory, QueueHistory, System } from "@/api/types";
import { dropsOf } from "@/pages/queue/drops";
import { fromHistory } from "@/pages/queue/graphData";
import { longestBurstS, readQueue, valuesOf } from "@/forms/queueValues";
import { parseFactor } from "@/pages/queues/BulkDrawer";
import { bulkChanges, NO_EDIT, scaledRate } from "@/pages/queues/bulk";
import { parseRatePair } from "@/pages/queues/InlineLimits";
import { nextSort } from "@/pages/queues/TableHead";
import { levelOf } from "@/table/liveColumns";
import { agoText, bytesText, delayText, sentence, spanText } from "@/ui/format";
import { fieldWords, tellingFields, valueText } from "@/ui/fieldText";
import { DECLARED } from "@/kinds/kinds";
import { pageTitle } from "@/kinds/title";
import { mockQueue, NO_TOTAL } from "./mock/state";

describe("the name of a page", () => {
  it.each([
    ["static-route", "Routes"],
    ["bgp", "BGP"],
    ["bgp-neighbor", "BGP neighbors"],
    ["set-entry", "Set entries"],
    ["ntp", "Time service"],
    ["firewall", "Firewall"],
  ])("of %s is %s, as its kind is written", (kind, title) =>
    expect(pageTitle(DECLARED.get(kind)!)).toBe(title),
  );
});

describe("the past of a queue", () => {
  const way = {
    rate_bps: [8_000, null],
    drops_ps: [10, null],
    early_drops_ps: [4, null],
    ancestor_drops_ps: [1, null],
    marks_ps: [2, null],
    worst_delay_us: [15_000, null],
    round_trip_us: null,
  };
  const history: QueueHistory = {
    id: "q",
    window: "1h",
    start: 60,
    step_s: 60,
    upload: way,
    download: way,
    delay_reason: null,
    limit_bps: { upload: 0, download: 0 },
  };
  it("tells how many packets were dropped and why", () =>
    expect(dropsOf(history)).toMatchObject({ packets: 1_200, early: 0.4, ancestor: 0.1, limit: 0.5 }));
  it("has nothing where nothing was measured, and both directions' drops and marks as one", () => {
    expect(fromHistory(history)).toMatchObject({
      at: [60, 120],
      drops: [20, null],
      marks: [4, null],
      uploadWait: [15_000, null],
      downloadTrip: [null, null],
    });
    const day = fromHistory({ ...history, download: { ...way, round_trip_us: [null, 24_000] } });
    expect([day.uploadTrip, day.downloadTrip]).toEqual([
      [null, null],
      [null, 24_000],
    ]);
  });
});

describe("bursts (vectors of the public manual)", () => {
  it.each([
    [16_000, 6],
    [8_000, 3],
  ])("threshold 1500k, burst 4M, time %d ms lasts %d s", (timeMs, seconds) => {
    expect(longestBurstS(4_000_000, 1_500_000, timeMs)).toBe(seconds);
  });
  it("never lasts without a threshold", () => expect(longestBurstS(4_000_000, 0, 8_000)).toBe(0));
});

describe("the queue form's values", () => {
  const queue = mockQueue("q1", {
    name: "acme",
    target: ["10.0.0.1/32"],
    max_limit_bps: { upload: 1_500_000, download: 10_000_000 },
    time: { start: "08:00", end: "18:00", days: ["mon"] },
  });
  it("go round unchanged", () => {
    const {
      etag: _etag,
      id: _id,
      path: _path,
      child_count: _count,
      enforcement: _enforcement,
      warnings: _warnings,
      ...input
    } = queue;
    expect(readQueue(valuesOf(queue), input)).toEqual({ input, messages: {} });
  });
  it("name the field that is wrong", () => {
    const values = { ...valuesOf(queue), name: " ", burst_time_ms: { upload: "soon", download: "8" } };
    expect(Object.keys(readQueue(values, null).messages).sort()).toEqual(["burst_time_ms.upload", "name"]);
  });
});

describe("one edit for many", () => {
  it("keeps proportions and never makes a limit unlimited", () => {
    expect(scaledRate(10_000_000, 1.2)).toBe(12_000_000);
    expect(scaledRate(400, 0.001)).toBe(1);
    expect(scaledRate(0, 2)).toBe(0);
  });
  it("touches only what was asked for", () => {
    const [change] = bulkChanges(
      [mockQueue("q1", { comment: "keep me", max_limit_bps: { upload: 1_000_000, download: 0 } })],
      { ...NO_EDIT, factor: 1.5, disabled: true },
    );
    expect(change).toMatchObject({
      kind: "queue",
      id: "q1",
      new: { comment: "keep me", disabled: true, max_limit_bps: { upload: 1_500_000, download: 0 } },
    });
    expect(change?.new).not.toHaveProperty("etag");
  });
  it.each([
    ["1.2", 1.2],
    ["x1.2", 1.2],
    ["120%", 1.2],
    ["0", null],
    ["-1", null],
    ["fast", null],
  ])("reads %s as %s", (text, factor) => expect(parseFactor(text)).toBe(factor));
});

describe("an interface's graph", () => {
  const side = (rates: (number | null)[]) => ({ rate_bps: rates, drops_ps: rates.map(() => 0) });
  const past = {
    id: "lan0",
    window: "2m",
    start: 100,
    step_s: 1,
    rx: side([1, null, 3]),
    tx: side([4, 5, 6]),
  } as InterfaceHistory;
  it("begins with what the router remembers, up to the first measurement that came here", () => {
    expect(withPast(past, { at: [102, 103], upload: [30, 40], download: [60, 70], drops: [0, 1] })).toEqual({
      at: [100, 101, 102, 103],
      upload: [1, null, 30, 40],
      download: [4, 5, 60, 70],
      drops: [0, 0, 0, 1],
    });
  });
  it("is what came here where nothing is remembered", () => {
    const here = { at: [1], upload: [2], download: [3], drops: [0] };
    expect(withPast(undefined, here)).toBe(here);
  });
});

describe("the picture of the last two minutes", () => {
  it("has a place for each second, and nothing in those that were not measured", () => {
    const data = { at: [100, 101.2, 104.1], upload: [1, 2, 3], download: [4, null, 6] };
    expect(bySecond(data)).toEqual({
      upload: [1, 2, null, null, 3],
      download: [4, null, null, null, 6],
    });
    const long = { at: [0, 500], upload: [1, 2], download: [3, 4] };
    expect(bySecond(long).upload).toEqual([...Array<null>(119).fill(null), 2]);
  });
});

describe("small pieces", () => {
  it("read a pair of limits, upload first", () => {
    expect(parseRatePair("10M/50M")).toEqual({
      ok: true,
      value: { upload: 10_000_000, download: 50_000_000 },
    });
    expect(parseRatePair("10 Mbit/s")).toEqual({
      ok: true,
      value: { upload: 10_000_000, download: 10_000_000 },
    });
    expect(parseRatePair("1/2/3").ok).toBe(false);
  });
  it("keep the hue of the direction, and turn amber from 90 % of the limit", () => {
    expect([0, 0.5, 0.89, 0.9, 1].map((ratio) => levelOf(ratio, "upload"))).toEqual([
      "none",
      "upload",
      "upload",
      "warn",
      "warn",
    ]);
  });
  it("sort falling, rising, not", () => {
    expect(nextSort("rate_download", undefined)).toBe("-rate_download");
    expect(nextSort("rate_download", "-rate_download")).toBe("rate_download");
    expect(nextSort("name", "-name")).toBeUndefined();
  });
  it("print numbers for people", () => {
    expect([
      bytesText(999),
      bytesText(1_240_000_000),
      delayText(450),
      delayText(4_200),
      spanText(90_000),
    ]).toEqual(["999 B", "1.24 GB", "450 µs", "4.2 ms", "1 d 1 h"]);
    expect(agoText("2026-01-01T00:00:00Z", Date.parse("2026-01-01T02:05:00Z"))).toBe("2 h ago");
    const next = "2026-01-01T12:00:00Z";
    expect(agoText(next, Date.parse("2026-01-01T09:40:00Z"))).toBe("in 2 h");
    expect(agoText(next, Date.parse("2026-01-01T11:59:30Z"))).toBe("just now");
    expect(agoText(next, Date.parse("2025-10-01T00:00:00Z"))).toMatch(/^2026-01-01 \d\d:00$/);
  });
  it("leave out of a group and of its rows what is as by default, and say units", () => {
    const port = { interface: "eth1", pvid: 1, tagged: [], untagged: [], isolated: false };
    const bridge = { ports: [port, { ...port, interface: "eth2", pvid: 10 }], ageing_s: 300, hello_s: 4 };
    expect(valueText("interface", "bridge", bridge)).toBe(
      "ports interface eth1; interface eth2, pvid 10, hello 4s",
    );
    expect(valueText("interface", "bridge", { ageing_s: 300, stp: "none" })).toBe("as by default");
    expect(valueText("dhcp-server", "lease_s", 43_200)).toBe("12h");
    expect(valueText("wireguard-peer", "preshared_key", { set: true })).toBe("set");
  });
  it("say of a field what its zero means, and leave out what nobody asked for", () => {
    expect(valueText("queue", "max_limit_bps", { upload: 0, download: 10_000_000 })).toBe(
      "upload unlimited, download 10M",
    );
    expect(valueText("queue", "limit_at_bps", { upload: 0, download: 1_000_000 })).toBe(
      "upload none, download 1M",
    );
    expect(valueText("queue", "total", { ...NO_TOTAL, max_limit_bps: 5_000_000 })).toBe("max limit 5M");
    expect([
      fieldWords("interface", "vrf_table"),
      valueText("interface", "vrf_table", 0),
      valueText("interface", "vrf_table", 1001),
    ]).toEqual(["VRF table", "by its name", "1001"]);
    expect([
      fieldWords("queue", "max_limit_bps.upload"),
      valueText("queue", "max_limit_bps.upload", 5_000_000),
    ]).toEqual(["Max limit, upload", "5M"]);
    const {
      etag: _etag,
      path: _path,
      child_count: _count,
      enforcement: _enforcement,
      warnings: _warnings,
      ...input
    } = mockQueue("q1", { name: "acme", target: ["10.0.0.1/32"] });
    const fields = Object.entries(input).map(([field, value]) => ({ field, old: null, new: value }));
    expect(
      tellingFields("queue", fields as Parameters<typeof tellingFields>[1], "add", "acme").map(
        (field) => field.field,
      ),
    ).toEqual(["id", "target"]);
  });
  it("take a field's default from its own kind", () => {
    const added = (kind: string, values: Record<string, unknown>) =>
      tellingFields(
        kind,
        Object.entries(values).map(([field, value]) => ({ field, old: null, new: value })),
        "add",
        "x",
      ).map((field) => field.field);
    expect(
      added("firewall", { masquerade: true, drop_new_from_wan: false, allowed_wan_tcp_ports: [] }),
    ).toEqual(["drop_new_from_wan"]);
    expect(
      added("static-route", {
        destination: "0.0.0.0/0",
        distance: 1,
        blackhole: false,
        priority: { upload: 8, download: 8 },
      }),
    ).toEqual(["destination", "priority"]);
    expect(
      added("queue", { "max_limit_bps.upload": 0, "max_limit_bps.download": 5, "total.priority": 8 }),
    ).toEqual(["max_limit_bps.download"]);
    expect(added("of another release", { distance: 1 })).toEqual(["distance"]);
  });
  it("end a sentence once, and begin it with a capital unless it begins with a name", () =>
    expect([
      sentence("no answer"),
      sentence("no answer.."),
      sentence("No. "),
      sentence("lan0 is down"),
      sentence("another is there"),
    ]).toEqual(["No answer.", "No answer.", "No.", "lan0 is down.", "Another is there."]));
  it("put an error at its field", () => {
    const problem = new ApiProblem({
      status: 422,
      code: "invalid",
      detail: "no",
      path: null,
      findings: [
        { severity: "error", code: "x", message: "unknown parent", kind: "queue", id: "q1", field: "parent" },
      ],
    });
    expect(messagesByField(problem)).toEqual({ parent: "unknown parent" });
  });
  it("put what is said of a path at its field, of an object or of a body that is none", () => {
    const at = (path: string | null) =>
      messagesByField(new ApiProblem({ status: 422, code: "x", detail: "no", path, findings: [] }));
    expect(at("queue/q1/target")).toEqual({ target: "No." });
    expect(at("password")).toEqual({ password: "No." });
    expect([at("queue/q1"), at(null)]).toEqual([{ "": "No." }, { "": "No." }]);
  });
  it("put an error of one of several addresses at the field of all, and one of no field on top", () => {
    const finding = { severity: "error", code: "x", kind: "interface", id: "lan0" } as const;
    const problem = new ApiProblem({
      status: 422,
      code: "invalid",
      detail: "no",
      path: null,
      findings: [
        {
          ...finding,
          field: "addresses[1]",
          message: "interface lan0: addresses[1] 'ten' needs a prefix length",
        },
        { ...finding, field: "oddity", message: "the oddity is odd" },
      ],
    });
    expect(messagesByField(problem, ["addresses"])).toEqual({
      addresses: "'ten' needs a prefix length",
      "": "The oddity is odd",
    });
  });
  it("let the worst of agent, kernel and agreement show", () => {
    const fine = {
      health: "ok",
      revision: 3,
      drift: [],
      agent: { connected: true, state: "ok", version: "1", revision: 3, since: 0 },
    } as unknown as System;
    expect(lampOf(fine, false).text).toBe("Healthy");
    expect(lampOf({ ...fine, agent: { ...fine.agent, connected: false } }, false).severity).toBe("error");
    expect(lampOf({ ...fine, revision: 4 }, false).text).toBe("Applying");
    expect(lampOf(undefined, true).severity).toBe("error");
  });
});

describe("the router in memory", () => {
  const sources = import.meta.glob<string>("./mock/*.ts", { query: "?raw", import: "default", eager: true });

  it("is loaded with Vite's configuration, where no alias leads anywhere", () => {
    expect(Object.keys(sources).length).toBeGreaterThan(3);
    for (const [name, text] of Object.entries(sources))
      for (const [, kind] of text.matchAll(/^import\s+(type\b)?[^;]*?from "@\//gm))
        expect([name, kind]).toEqual([name, "type"]);
  });
});
