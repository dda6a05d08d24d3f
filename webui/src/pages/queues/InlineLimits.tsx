// SPDX-License-Identifier: Apache-2.0
import { Popover } from "@mantine/core";
import { useId, useState, type KeyboardEvent } from "react";
import { asProblem } from "@/api/problem";
import type { Queue } from "@/api/types";
import { queueInput, sayStaged, useStage } from "@/api/writes";
import { exactRate, limitWords, parseRate, type Parsed } from "@/ui/rates";
import classes from "./Queues.module.css";

/** Reads `10M/50M`, upload first; one rate alone is for both directions. */
export function parseRatePair(text: string): Parsed<{ upload: number; download: number }> {
  const parts = text.split(/\/(?!s\b)/);
  if (parts.length > 2) return { ok: false, message: "Write upload/download, as in 10M/50M." };
  const upload = parseRate(parts[0] ?? "");
  const download = parts.length === 2 ? parseRate(parts[1] ?? "") : upload;
  if (!upload.ok) return upload;
  if (!download.ok) return download;
  return { ok: true, value: { upload: upload.value, download: download.value } };
}

interface InlineLimitsProps {
  queue: Queue;
  /** The version that is shown when the field opens. */
  base: string | undefined;
  onClose: () => void;
  /** Goes on in the row below (1) or above (-1). */
  onStep: (by: 1 | -1) => void;
}

/** The limit edited in its cell: Enter stages it, Tab stages it and goes on in the next row, Escape leaves it as it was. */
export function InlineLimits({ queue, base, onClose, onStep }: InlineLimitsProps) {
  const before = `${exactRate(queue.max_limit_bps.upload)}/${exactRate(queue.max_limit_bps.download)}`;
  const [text, setText] = useState(before);
  const [madeOn, setMadeOn] = useState(base ?? null);
  const hintId = useId();
  const stage = useStage(true);
  const parsed = parseRatePair(text);
  const hint = parsed.ok
    ? `upload ${limitWords(parsed.value.upload)}, download ${limitWords(parsed.value.download)}`
    : parsed.message;
  const refused = stage.error ? asProblem(stage.error).message : null;
  const isBad = !parsed.ok || refused !== null;

  const save = (done: () => void) => {
    if (!parsed.ok || stage.isPending) return;
    if (text === before) {
      done();
      return;
    }
    stage.mutate(
      [
        {
          kind: "queue",
          id: queue.id,
          new: { ...queueInput(queue), max_limit_bps: parsed.value },
          base: madeOn,
        },
      ],
      {
        onSuccess: (whose) => {
          if (whose === "mine") sayStaged(`${queue.name}: ${hint}. Pending until it is committed.`);
          done();
        },
        onError: () => setMadeOn(null),
      },
    );
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    event.stopPropagation();
    if (event.key === "Escape") onClose();
    if (event.key === "Enter") save(onClose);
    if (event.key !== "Tab" || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    save(() => onStep(event.shiftKey ? -1 : 1));
  };

  return (
    <Popover
      opened
      position="bottom-end"
      offset={2}
      trapFocus={false}
      returnFocus={false}
      withRoles={false}
      transitionProps={{ duration: 0 }}
    >
      <Popover.Target>
        <input
          className={classes.inline}
          aria-label={`Limit of ${queue.name}, upload/download`}
          aria-invalid={isBad}
          aria-describedby={hintId}
          value={text}
          autoFocus
          onFocus={(event) => event.currentTarget.select()}
          onChange={(event) => {
            setText(event.currentTarget.value);
            stage.reset();
          }}
          onKeyDown={onKeyDown}
          onBlur={() => {
            if (text === before) onClose();
          }}
        />
      </Popover.Target>
      <Popover.Dropdown
        id={hintId}
        className={classes.inlineHint}
        data-bad={isBad}
        role={isBad ? "alert" : "status"}
      >
        {refused ?? hint}
      </Popover.Dropdown>
    </Popover>
  );
}
