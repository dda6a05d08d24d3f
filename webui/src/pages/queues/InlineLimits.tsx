// SPDX-License-Identifier: Apache-2.0
import { useState, type KeyboardEvent } from "react";
import { asProblem } from "@/api/problem";
import type { Queue } from "@/api/types";
import { queueInput, useStage } from "@/api/writes";
import { exactRate, limitWords, parseRate, type Parsed } from "@/ui/rates";
import { say } from "@/ui/toast";
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

/** The limit edited in its cell: Enter stages it, Escape leaves it. */
export function InlineLimits({ queue, onClose }: { queue: Queue; onClose: () => void }) {
  const before = `${exactRate(queue.max_limit_bps.upload)}/${exactRate(queue.max_limit_bps.download)}`;
  const [text, setText] = useState(before);
  const stage = useStage(true);
  const parsed = parseRatePair(text);
  const hint = parsed.ok ? `up ${limitWords(parsed.value.upload)}, down ${limitWords(parsed.value.download)}` : parsed.message;

  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    event.stopPropagation();
    if (event.key === "Escape") onClose();
    if (event.key !== "Enter" || !parsed.ok || stage.isPending) return;
    if (text === before) { onClose(); return; }
    const changed = { ...queueInput(queue), max_limit_bps: parsed.value };
    stage.mutate([{ kind: "queue", id: queue.id, new: changed }], {
      onSuccess: () => {
        say("notice", `${queue.name}: ${hint}. Pending until it is committed.`);
        onClose();
      },
      onError: (error) => say("error", `${queue.name}: ${asProblem(error).message}`),
    });
  };

  return (
    <input
      className={classes.inline}
      aria-label={`Limit of ${queue.name}, upload/download`}
      aria-invalid={!parsed.ok}
      title={hint}
      value={text}
      autoFocus
      onFocus={(event) => event.currentTarget.select()}
      onChange={(event) => setText(event.currentTarget.value)}
      onKeyDown={onKeyDown}
      onBlur={() => {
        if (text === before) onClose();
      }}
    />
  );
}
