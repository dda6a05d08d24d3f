// SPDX-License-Identifier: Apache-2.0
import { act, render, screen } from "@testing-library/react";
import { readFileSync, readdirSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { ALL_NAV } from "@/app/nav";
import PAGES from "@/app/pages.json";
import { Help } from "@/kinds/form/Help";
import { NAMED } from "@/kinds/names";
import { LivePainter } from "@/table/LivePainter";
import { Spark } from "@/ui/Spark";
import { shortRate } from "@/ui/rates";
import { interfaceStats } from "./mock/live";
import { FakeEventSource, mockRouter, renderAt } from "./render";

mockRouter();
const AT = 1_764_000_000;
const answerAt = (at: number) => ({
  at,
  stale_since: null,
  stale_reason: null,
  items: interfaceStats(at),
});
const measure = (at: number) => FakeEventSource.last!.send("interfaces", answerAt(at));
const wan = (at = AT) => interfaceStats(at).find((port) => port.id === "wan0")!;

describe("the head of a page", () => {
  it("has what goes out and comes in at WAN ports, and nothing before it is measured", async () => {
    renderAt("/");
    await screen.findByRole("heading", { name: "Overview" });
    const spark = () => screen.queryByRole("img", { name: /^Traffic with the internet/ });
    expect(spark()).toBeNull();
    act(() => measure(AT));
    expect((await screen.findByTitle("Download from the internet")).ariaLabel).toBe(shortRate(wan().rx_bps));
    expect(spark()).not.toBeNull();
  });

  it("has new rates with each measurement, and another picture of two minutes only every few seconds", async () => {
    const clock = vi.spyOn(performance, "now");
    const drawn = vi.spyOn(LivePainter.prototype, "draw");
    renderAt("/");
    await screen.findByRole("heading", { name: "Overview" });
    const picture = () => drawn.mock.lastCall?.[1].at(-1)?.spark?.download.join();
    const pictures: (string | undefined)[] = [];
    for (const [at, ms] of [10_000, 11_000, 14_900, 15_000].entries()) {
      clock.mockReturnValue(ms);
      act(() => measure(AT + 10 + at));
      const rate = await screen.findByTitle("Upload to the internet");
      expect(rate.ariaLabel).toBe(shortRate(wan(AT + 10 + at).tx_bps));
      pictures.push(picture());
    }
    expect(pictures[0]).toContain(String(wan(AT + 10).rx_bps));
    expect(pictures[0]).toBe(pictures[2]);
    expect(pictures[3]).not.toBe(pictures[2]);
  });

  it("has no figures any more when they are not known any more", async () => {
    renderAt("/");
    await screen.findByRole("heading", { name: "Overview" });
    act(() => measure(AT + 20));
    await screen.findByTitle("Upload to the internet");
    act(() => FakeEventSource.last!.send("interfaces", { ...answerAt(AT + 21), items: [] }));
    expect(screen.queryByTitle("Upload to the internet")).toBeNull();
  });
});

describe("a sparkline", () => {
  it("draws an area for each stretch that was measured, the newest at the right edge", () => {
    render(<Spark label="x" upload={[1, null, 1]} download={[0, 2, 4]} span={5} />);
    const [download, upload] = [...screen.getByRole("img", { name: "x" }).querySelectorAll("path")];
    expect(upload!.getAttribute("d")!.match(/Z/g)).toHaveLength(2);
    expect(download!.getAttribute("d")).toBe("M48.0,13L48.0,13.0L72.0,7.0L96.0,1.0L96.0,13Z");
  });
});

describe("help", () => {
  it("shows as code what its declaration quotes", () => {
    render(<Help text="Frames of `parent` with the tag `id`." />);
    expect(screen.getByText("parent").tagName).toBe("CODE");
    expect(screen.queryByText(/`/)).toBeNull();
  });
});

describe("the menu", () => {
  it("has a picture of its own for each page", () => {
    expect(new Set(ALL_NAV.map((item) => item.icon)).size).toBe(ALL_NAV.length);
  });

  it("leads only to pages that are looked at: by axe, at every width, and in pictures", () => {
    const lookedAt = [...Object.values(PAGES), ...[...NAMED.values()].map((kind) => `/${kind.page}`)];
    const pages = ALL_NAV.map((item) => (item.to === "/$page" ? `/${item.page}` : item.to));
    expect(pages.filter((page) => !lookedAt.includes(page))).toEqual([]);
  });
});

describe("text", () => {
  const sheets = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((path) =>
    path.endsWith(".css"),
  );

  it("has one of four sizes", () => {
    const sizes = sheets.flatMap((path) =>
      [...readFileSync(`src/${path}`, "utf8").matchAll(/font-size: ([^;]+);/g)].map(
        ([, size]) => `${path}: ${size}`,
      ),
    );
    expect(sizes.length).toBeGreaterThan(50);
    expect(
      sizes.filter((size) => !/: (var\(--text-(small|body|section|title)\)|0\.92em|inherit)$/.test(size)),
    ).toEqual([]);
  });
});
