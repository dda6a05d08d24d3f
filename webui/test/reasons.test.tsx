// SPDX-License-Identifier: Apache-2.0
import { screen, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { queueInput } from "@/api/writes";
import { sourcesIn } from "./mock/texts";
import { mockRouter, renderAt } from "./render";

const router = mockRouter();

/** Elements that can be disabled and do not say why; of the fields of a form the form says it. */
function silent(where: string, source: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isJsxOpeningElement(node) || ts.isJsxSelfClosingElement(node)) {
      const names = node.attributes.properties.map((item) => item.name?.getText() ?? "");
      const tag = node.tagName.getText();
      const says = names.includes("title") || names.includes("description") || tag === "fieldset";
      if (names.includes("disabled") && !says) found.push(`${where}: <${tag}>`);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(where, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX));
  return found;
}

describe("what is disabled", () => {
  it("says why, everywhere", () => {
    expect(silent("x.tsx", "const x = <Button disabled={a}>Go</Button>;")).toEqual(["x.tsx: <Button>"]);
    expect(sourcesIn("src").flatMap((path) => silent(path, readFileSync(path, "utf8")))).toEqual([]);
  });

  it("says it when it is pressed, and to a screen reader, and does nothing", async () => {
    const [queue] = [...router.state.queues.values()];
    const staged = {
      kind: "queue" as const,
      id: queue!.id,
      new: { ...queueInput(queue!), comment: "later" },
    };
    router.state.staged.set(`queue/${queue!.id}`, staged);
    router.state.pending = {
      revision: 1,
      base_revision: 1,
      author: "eve",
      message: "",
      started_at: new Date().toISOString(),
      deadline_at: new Date(Date.now() + 60_000).toISOString(),
      window_s: 60,
      seconds_left: 60,
      token: null,
      undo: new Map(),
    };
    renderAt("/about");
    const bar = within(await screen.findByRole("region", { name: "Pending changes" }));
    await screen.findByRole("region", { name: "Confirmation" });
    const commit = bar.getByRole("button", { name: "Commit" });
    expect(commit.getAttribute("aria-disabled")).toBe("true");
    const described = document.getElementById(commit.getAttribute("aria-describedby") ?? "");
    expect(described?.textContent).toBe(
      "Another commit waits for its confirmation: keep or revert it first.",
    );
    await userEvent.click(commit);
    expect(screen.queryByRole("dialog")).toBeNull();
    expect((await screen.findAllByText(/keep or revert it first\.$/)).length).toBeGreaterThan(1);
  });
});
