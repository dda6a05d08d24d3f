// SPDX-License-Identifier: Apache-2.0
import { cleanup, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { mockRouter, renderAt } from "./render";

mockRouter();

const tour = () => screen.queryByRole("region", { name: "Tour" });

describe("the first tour", () => {
  it("has five steps, goes on where it was after a reload, and does not come back", async () => {
    const user = userEvent.setup();
    renderAt("/");
    for (const step of [1, 2, 3]) {
      expect(await screen.findByText(`Tour, ${step} of 5`)).toBeInstanceOf(HTMLElement);
      await user.click(screen.getByRole("button", { name: "Next hint" }));
    }
    cleanup();
    renderAt("/about");
    expect(await screen.findByText("Tour, 4 of 5")).toBeInstanceOf(HTMLElement);
    await user.click(screen.getByRole("button", { name: "Step back" }));
    await user.click(screen.getByRole("button", { name: "Next hint" }));
    await user.click(screen.getByRole("button", { name: "Next hint" }));
    await user.click(screen.getByRole("button", { name: "End the tour" }));
    expect(tour()).toBeNull();
    cleanup();
    renderAt("/about");
    await screen.findByRole("heading", { name: "About" });
    expect(tour()).toBeNull();
  });

  it("can be skipped, and begins at the beginning where what is kept is no step", async () => {
    const user = userEvent.setup();
    localStorage.setItem("weir.tour", "99");
    renderAt("/about");
    expect(await screen.findByText("Tour, 1 of 5")).toBeInstanceOf(HTMLElement);
    await user.click(screen.getByRole("button", { name: "Skip the tour" }));
    cleanup();
    renderAt("/about");
    await screen.findByRole("heading", { name: "About" });
    expect(tour()).toBeNull();
  });
});
