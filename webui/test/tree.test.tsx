// SPDX-License-Identifier: Apache-2.0
import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { queryClient } from "@/api/queries";
import { useStagedChanges } from "@/api/writes";
import { QueueName } from "@/pages/queues/columns";
import { usePlaced } from "@/pages/queues/parents";
import { withStaged } from "@/pages/queues/rows";
import { toggled } from "@/pages/queues/unfolded";
import { mockQueue, mockQueues } from "./mock/state";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();
/** Without the line of titles. */
const rows = async () =>
  Number((await screen.findByRole("grid", { name: "Queues" })).getAttribute("aria-rowcount")) - 1;

describe("the tree that nobody has touched", () => {
  it("is unfolded where there are few queues", async () => {
    renderAt("/queues?view=tree");
    expect(await rows()).toBe(12);
  });

  it("shows the roots where there are many", async () => {
    router.state.queues = mockQueues(90);
    renderAt("/queues?view=tree");
    expect(await rows()).toBe(3);
  });

  it("stays folded when somebody has folded all of it", async () => {
    const folded = toggled("tower-0", "tower-0");
    renderAt(`/queues?view=tree&open=${folded}`);
    expect(await rows()).toBe(1);
  });
});

describe("where a staged queue will stand", () => {
  const stage = (id: string, change: object) =>
    router.state.staged.set(`queue/${id}`, {
      kind: "queue",
      id,
      new: { name: id, parent: null, target: [], ...change },
      base: null,
    });

  function Names() {
    const placed = usePlaced(useStagedChanges("queue"));
    return [...placed.keys()].map((id) => (
      <p key={id}>
        <QueueName
          row={{
            ...withStaged(router.state.queues.get(id) ?? mockQueue(id, placed.get(id)?.new ?? {}), placed),
            depth: 0,
            expanded: null,
          }}
          onToggle={() => undefined}
        />
      </p>
    ));
  }

  it("is said by the parent's name: a stored one, a new one, and one to which it moves", async () => {
    router.state.queues = mockQueues(50);
    const moved = [...router.state.queues.values()].find((queue) => queue.parent === "tower-0")!;
    stage("hotel", { name: "Hotel at the harbour", parent: "tower-1" });
    stage("room", { name: "Room 7", parent: "hotel" });
    stage(moved.id, { ...moved, name: "Moved house", parent: "tower-1" });
    const { container } = render(
      <QueryClientProvider client={queryClient}>
        <Names />
      </QueryClientProvider>,
    );
    await waitFor(() =>
      expect([...container.querySelectorAll("p")].map((line) => line.textContent)).toEqual([
        "Hotel at the harbourTower South 2",
        "Room 7Hotel at the harbour",
        "Moved houseTower South 2",
      ]),
    );
  });
});

it("the filter by parent is named as the parent is", async () => {
  renderAt("/queues?parent=tower-0");
  expect(
    await screen.findByRole("button", {
      name: "Show the children of every queue, not only of Tower North 1",
    }),
  ).toBeTruthy();
});
