// SPDX-License-Identifier: Apache-2.0
/** A frame that goes the packet's way and is caught before it leaves, beside what was foretold (docs/diagnosis.md). */
import { Button } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { api, need } from "@/api/client";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import type { PathProof as Proof } from "@/api/types";
import { Note, Tag } from "@/ui/blocks";
import { sentence } from "@/ui/format";
import type { Packet } from "./packet";
import { proofOf } from "./packet";
import { PLACES } from "./places";
import classes from "./PacketPath.module.css";

const OUTCOMES: Record<Proof["outcome"], readonly [string, "bad" | "ok" | undefined]> = {
  same: ["Proved", "ok"],
  differs: ["Differs", "bad"],
  unknown: ["Not known", undefined],
};

export function PathProof({ packet }: { packet: Packet }) {
  const may = useMay("support");
  const asked = proofOf(packet);
  const prove = useMutation({
    mutationFn: (body: NonNullable<typeof asked>) => need(api.POST("/api/v1/diagnosis/path/prove", { body })),
    meta: { inline: true },
  });
  if (!may || asked === null) return null;
  return (
    <>
      <p className="row">
        <Button variant="default" loading={prove.isPending} onClick={() => prove.mutate(asked)}>
          Prove
        </Button>
        <span className="dim">One frame of this kind is sent, and caught before it leaves.</span>
      </p>
      {prove.error ? (
        <Note severity="error" live>
          {sentence(asProblem(prove.error).message)}
        </Note>
      ) : prove.data ? (
        <Proved found={prove.data} />
      ) : null}
    </>
  );
}

function Proved({ found }: { found: Proof }) {
  return (
    <div role="status">
      {found.outcome === "differs" ? (
        <Note severity="error" live>
          {found.sentence}
        </Note>
      ) : (
        <p className={classes.answer}>{found.sentence}</p>
      )}
      <ol className={classes.line} aria-label="What the frame did">
        {found.steps.map((step, at) => (
          <ProvedItem key={at} step={step} />
        ))}
      </ol>
      {found.took_ms === null ? null : (
        <p className="dim">
          By revision {found.revision}, in {found.took_ms.toFixed(0)} ms. Nothing left the router.
        </p>
      )}
    </div>
  );
}

function ProvedItem({ step }: { step: Proof["steps"][number] }) {
  const [word, tone] = OUTCOMES[step.outcome];
  return (
    <li data-outcome={step.outcome}>
      <strong>{PLACES[step.at]}</strong>
      <span>
        <Tag {...(tone ? { tone } : {})}>{word}</Tag>
      </span>
      <span className={classes.text}>
        <span className="dim">Foretold: {step.predicted?.sentence ?? "nothing."}</span>
        <span>{step.sentence}</span>
      </span>
    </li>
  );
}
