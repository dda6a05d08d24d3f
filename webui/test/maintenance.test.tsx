// SPDX-License-Identifier: Apache-2.0
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const press = async (name: string) => fireEvent.click(await screen.findByRole("button", { name }));

describe("maintenance", () => {
  it("asks once before the router is switched off", async () => {
    renderAt("/maintenance");
    await press("Switch off");
    expect(router.state.machine).toEqual([]);
    fireEvent.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Switch off" }));
    await waitFor(() => expect(router.state.machine).toEqual(["power-off"]));
  });

  it("resets only a router whose name was typed, and in the way that was chosen", async () => {
    renderAt("/maintenance");
    fireEvent.click(await screen.findByLabelText(/^Wipe/));
    const name = await screen.findByLabelText(/Type the router's name, weir-mock/);
    fireEvent.change(name, { target: { value: "weir" } });
    await userEvent.type(name, "{Enter}");
    expect(await screen.findByText(/router.s name, weir-mock, first\.$/)).toBeTruthy();
    fireEvent.submit(name);
    expect(router.state.machine).toEqual([]);
    fireEvent.change(name, { target: { value: "weir-mock" } });
    await press("Wipe it and restart as new");
    await waitFor(() => expect(router.state.machine).toEqual(["reset wipe"]));
  });
});
