// SPDX-License-Identifier: Apache-2.0
import { cleanup, screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { areaOf, NAV } from "@/app/nav";
import { NAMED } from "@/kinds/names";
import { mockRouter, renderAt } from "./render";

mockRouter();

const menu = async () => within(await screen.findByRole("navigation", { name: "Main" }));
const openAreas = async () =>
  (await menu()).getAllByRole("button", { expanded: true }).map((line) => line.getAttribute("aria-label"));

describe("the menu", () => {
  it("shows the pages of the open page's area, and of any other its name alone", async () => {
    renderAt("/queues");
    expect(await openAreas()).toEqual(["Shaping"]);
    const lines = (await menu()).getAllByRole("link").map((line) => line.getAttribute("aria-label"));
    const [shaping] = NAV.areas;
    expect(lines).toEqual([...NAV.top, ...shaping!.items].map((item) => item.label));
    await userEvent.setup().keyboard("gr");
    await screen.findByRole("list", { name: "Routing" });
    expect(await openAreas()).toEqual(["Routing"]);
  });

  it("keeps open what was opened, in this browser, until it is folded", async () => {
    const user = userEvent.setup();
    renderAt("/queues");
    await user.click((await menu()).getByRole("button", { name: "System" }));
    await user.click((await menu()).getByRole("button", { name: "Shaping" }));
    expect(await openAreas()).toEqual(["System"]);
    cleanup();
    renderAt("/queues");
    expect(await openAreas()).toEqual(["Shaping", "System"]);
    await user.click((await menu()).getByRole("button", { name: "System" }));
    cleanup();
    renderAt("/queues");
    expect(await openAreas()).toEqual(["Shaping"]);
  });

  it("is walked through by arrow keys", async () => {
    const user = userEvent.setup();
    renderAt("/queues");
    const network = (await menu()).getByRole("button", { name: "Network" });
    network.focus();
    await user.keyboard("{ArrowRight}{ArrowDown}");
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Interfaces");
    await user.keyboard("{ArrowLeft}");
    expect(document.activeElement).toBe(network);
    await user.keyboard("{ArrowLeft}");
    expect(network.getAttribute("aria-expanded")).toBe("false");
    await user.keyboard("{Enter}");
    expect(network.getAttribute("aria-expanded")).toBe("true");
    await user.keyboard("{Home}");
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Overview");
    await user.keyboard("{End}{ArrowDown}");
    expect(document.activeElement?.getAttribute("aria-label")).toBe("System");
  });

  it("knows the area of every page, and of what lies below it", () => {
    for (const kind of NAMED.values()) expect(areaOf(`/${kind.page}`)).toBe(kind.area);
    expect(areaOf("/queues/q1")).toBe("Shaping");
    expect(areaOf("/queue-types")).toBe("Shaping");
    expect(areaOf("/")).toBeNull();
    expect(areaOf("/account")).toBeNull();
  });
});
