// SPDX-License-Identifier: Apache-2.0
import { useMutation } from "@tanstack/react-query";
import { api, need } from "@/api/client";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { Note } from "@/ui/blocks";
import { ReasonedButton } from "@/ui/ReasonedButton";
import type { ExtraProps } from "../extras";

/** Sends one message to an alert target and says what its server answered. */
export default function TestPanel({ row }: ExtraProps) {
  const { object, staged } = row;
  const may = useMay("write");
  const test = useMutation({
    mutationFn: () =>
      need(
        api.POST("/api/v1/alert-targets/{target_id}/test", { params: { path: { target_id: object.id } } }),
      ),
  });
  if (!may) return null;
  const why = staged
    ? "Commit the pending change of this target first"
    : object["disabled"] === true
      ? "It is disabled: nothing is sent to it"
      : null;
  return (
    <section className="stack" aria-label="Test">
      <h3>Test</h3>
      <p className="dim">The router sends one message now. A server may take 20 seconds to answer.</p>
      <div className="row">
        <ReasonedButton why={why} onClick={() => test.mutate()} loading={test.isPending}>
          Send a test message
        </ReasonedButton>
      </div>
      {test.isError ? (
        <Note severity="error" live>
          {asProblem(test.error).message}
        </Note>
      ) : null}
      {test.data ? (
        <Note severity={test.data.delivered ? "ok" : "error"} live>
          {test.data.delivered ? "Delivered" : "Not delivered"}: {test.data.answer}
        </Note>
      ) : null}
    </section>
  );
}
