// SPDX-License-Identifier: Apache-2.0
import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { http, HttpResponse } from "msw";
import { describe, expect, it } from "vitest";
import { queryClient, systemQuery } from "@/api/queries";
import type { System, Updates } from "@/api/types";
import { problem } from "./mock/answers";
import { UPDATES } from "./mock/network";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
const UPDATE = "*/api/v1/system/update";
const bundle = new File(["x".repeat(2_000)], "weir-0.3.0.raucb");

/** The page on a router whose slots and last installation are these. */
async function pageOf(change: Partial<Omit<Updates, "job">> & { job?: Partial<Updates["job"]> } = {}) {
  const state: Updates = { ...UPDATES, ...change, job: { ...UPDATES.job, ...change.job } };
  router.server.use(http.get(UPDATE, () => HttpResponse.json(state)));
  renderAt("/update");
  await screen.findByRole("table", { name: "Slots" });
}

async function install() {
  fireEvent.change(await screen.findByLabelText("Bundle to install"), { target: { files: [bundle] } });
  fireEvent.click(screen.getByRole("button", { name: "Check and install" }));
}

const rowOf = (slot: string) =>
  within(screen.getByRole("table", { name: "Slots" }))
    .getByText(slot)
    .closest("tr")!;

describe("updates", () => {
  it("show both slots, and choose the one for the next start", async () => {
    await pageOf();
    fireEvent.click(await screen.findByRole("button", { name: "Start from B next" }));
    await waitFor(() => expect(rowOf("B").textContent).toContain("next start"));
  });

  it.each([
    [
      "bundle-untrusted",
      "the bundle is not signed by an authority that this router trusts (RAUC: signature verification failed)",
    ],
    ["bundle-damaged", "the file is no signed update bundle: it was cut short, or it is something else"],
    ["bundle-foreign", "the bundle is made for 'other', this router is 'weir-x86_64'"],
    [
      "bundle-too-old",
      "version 0.0.1 is older than 0.1.0, the oldest that can read this router's configuration",
    ],
  ])("say why a bundle is refused: %s", async (code, words) => {
    router.server.use(http.post(UPDATE, () => problem(422, code, words)));
    await pageOf();
    await install();
    const said = (await screen.findByRole("alert")).textContent;
    expect(said.toLowerCase()).toContain(`${words}. Nothing was changed.`.toLowerCase());
    expect(screen.getByRole("button", { name: "Check and install" }).hasAttribute("aria-disabled")).toBe(
      false,
    );
  });

  it("say that a bundle is on its way, and send it as it is", async () => {
    let arrive: (answer: Response) => void = () => undefined;
    const arrived = new Promise<Response>((resolve) => (arrive = resolve));
    let size = 0;
    router.server.use(
      http.post(UPDATE, async ({ request }) => {
        size = (await request.arrayBuffer()).byteLength;
        return arrived;
      }),
    );
    await pageOf();
    await install();
    expect(await screen.findByRole("progressbar", { name: "Sending weir-0.3.0.raucb" })).toBeInstanceOf(
      HTMLElement,
    );
    expect(screen.queryByRole("button", { name: "Check and install" })).toBeNull();
    arrive(
      HttpResponse.json({
        ...UPDATES,
        job: { ...UPDATES.job, state: "installing", percent: 3, what: "Checking", version: "0.3.0" },
      }),
    );
    expect(
      await screen.findByRole("progressbar", { name: "Version 0.3.0 is being installed" }),
    ).toBeInstanceOf(HTMLElement);
    expect(size).toBe(bundle.size);
  });

  it("show how far an installation is, and take no other bundle meanwhile", async () => {
    await pageOf({
      job: { state: "installing", percent: 34, what: "Copying image to rootfs.1", version: "0.3.0" },
    });
    expect(screen.getByRole("progressbar").getAttribute("aria-valuenow")).toBe("34");
    expect(screen.queryByLabelText("Bundle to install")).toBeNull();
  });

  it("offer the restart where the new version waits for it", async () => {
    await pageOf({ next: "B", job: { state: "installed", percent: 100, version: "0.3.0" } });
    const said = screen.getByText(/Version 0.3.0 is installed/).closest("[role=status]") as HTMLElement;
    fireEvent.click(within(said).getByRole("button", { name: "Restart" }));
    fireEvent.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Restart" }));
    await waitFor(() => expect(router.state.machine).toEqual(["restart"]));
  });

  it("tell an empty slot from one that the router went back from", async () => {
    const [running] = UPDATES.slots;
    await pageOf({
      slots: [running!, { name: "B", booted: false, good: false, version: null, installed_at: null }],
    });
    expect(rowOf("B").textContent).toContain("empty");
    expect(screen.queryByText(/is not started/)).toBeNull();
  });

  it("say that the router went back by itself", async () => {
    const [running] = UPDATES.slots;
    await pageOf({
      slots: [
        running!,
        { name: "B", booted: false, good: false, version: "0.3.0", installed_at: "2026-11-01T00:00:00Z" },
      ],
    });
    expect(screen.getByText(/Version 0.3.0 in slot B is not started/)).toBeInstanceOf(HTMLElement);
    expect(rowOf("B").textContent).toContain("not to be started");
  });
});

it("a page that is older than the router says so", async () => {
  renderAt("/about");
  await screen.findByRole("heading", { name: "About" });
  const system = await waitFor(() => queryClient.getQueryData<System>(systemQuery.queryKey)!);
  expect(screen.queryByText(/this page is of/)).toBeNull();
  queryClient.setQueryData(systemQuery.queryKey, { ...system, version: "9.9.9" });
  expect(await screen.findByText(/runs release 9.9.9 now; this page is of/)).toBeInstanceOf(HTMLElement);
});
