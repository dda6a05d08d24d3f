// SPDX-License-Identifier: Apache-2.0
import { Button, Modal, NativeSelect } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { raisesQuery, useEndRaise, useRaise } from "@/api/raises";
import type { Pair, Queue, Raise } from "@/api/types";
import { optionalRate } from "@/forms/queueValues";
import { RatePair } from "@/forms/RatePair";
import { Arrow, Note } from "@/ui/blocks";
import { sentence, stampText } from "@/ui/format";
import { exactRate, limitWords } from "@/ui/rates";
import { say } from "@/ui/toast";

const TIMES = [
  { value: "900", label: "15 minutes" },
  { value: "3600", label: "1 hour" },
  { value: "14400", label: "4 hours" },
  { value: "86400", label: "1 day" },
];
const USUAL_S = "3600";

export const useRaised = (id: string): Raise | undefined =>
  useQuery(raisesQuery).data?.find((item) => item.queue_id === id);

/** Twice of what there is; a limit that is none stays none. */
const doubled = ({ upload, download }: Pair<number>): Pair<string> => {
  const twice = (bps: number) => (bps === 0 ? "" : exactRate(bps * 2));
  return { upload: twice(upload), download: twice(download) };
};

const Limits = ({ of }: { of: Pair<number> }) => (
  <span className="nowrap">
    <Arrow direction="upload" /> {limitWords(of.upload)} <Arrow direction="download" />{" "}
    {limitWords(of.download)}
  </span>
);

/** Raises the limit for some time; nothing to raise where there is none. */
export function RaiseButton({ queue }: { queue: Queue }) {
  const [open, setOpen] = useState(false);
  const may = useMay("support");
  const raised = useRaised(queue.id);
  const { upload, download } = queue.max_limit_bps;
  if (!may || (upload === 0 && download === 0 && !raised)) return null;
  return (
    <>
      <Button onClick={() => setOpen(true)}>{raised ? "Raise again" : "Raise for 1 h"}</Button>
      {open ? <RaiseDialog queue={queue} raised={raised} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

interface RaiseDialogProps {
  queue: Queue;
  raised: Raise | undefined;
  onClose: () => void;
}

function RaiseDialog({ queue, raised, onClose }: RaiseDialogProps) {
  const before = raised?.before_bps ?? queue.max_limit_bps;
  const [text, setText] = useState(() => doubled(before));
  const [seconds, setSeconds] = useState(USUAL_S);
  const raise = useRaise(queue.id);
  const [upload, download] = [optionalRate(text.upload), optionalRate(text.download)];
  const save = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!upload.ok || !download.ok || raise.isPending) return;
    const limits = { upload: upload.value, download: download.value };
    raise.mutate(
      { limits, seconds: Number(seconds) },
      {
        onSuccess: (made) => {
          say("notice", `${queue.name} is raised until ${stampText(made.until)}.`);
          onClose();
        },
      },
    );
  };
  return (
    <Modal opened onClose={onClose} title={`Raise the limit of ${queue.name}`} size="sm">
      <form className="stack" onSubmit={save}>
        <RatePair
          label="Limit"
          field="max_limit_bps"
          value={text}
          messages={{}}
          onChange={setText}
          none="unlimited"
        />
        <NativeSelect
          label="For"
          data={TIMES}
          value={seconds}
          onChange={(event) => setSeconds(event.currentTarget.value)}
        />
        <p className="dim">
          The limit is raised at once, by a revision of its own. Afterwards the limit goes back to{" "}
          <Limits of={before} /> by itself, unless somebody sets another one.
        </p>
        {raise.error ? (
          <Note severity="error" live>
            {asProblem(raise.error).message}
          </Note>
        ) : null}
        <div className="row">
          <Button type="submit" variant="filled" loading={raise.isPending} data-autofocus>
            Raise now
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Modal>
  );
}

/** Says that the limit is raised, until when, and offers to lower it. */
export function RaisedNote({ queue }: { queue: Queue }) {
  const raised = useRaised(queue.id);
  const may = useMay("support");
  const end = useEndRaise(queue.id);
  if (!raised) return null;
  const lower = () =>
    end.mutate(undefined, {
      onSuccess: (wentBack) =>
        say(
          "notice",
          wentBack
            ? `${queue.name} has its previous limit again.`
            : `The limit of ${queue.name} was changed meanwhile and stays.`,
        ),
    });
  const isOver = raised.seconds_left <= 0;
  return (
    <Note severity={raised.held_up ? "warning" : "notice"}>
      <span className="spread">
        <span>
          Raised by {raised.author} to <Limits of={raised.max_limit_bps} />
          {isOver ? "; its time is over" : ` until ${stampText(raised.until)}`}. The limit goes back to{" "}
          <Limits of={raised.before_bps} />.
          {raised.held_up ? ` It cannot go back yet: ${sentence(raised.held_up)}` : ""}
        </span>
        {may ? (
          <Button size="compact-sm" loading={end.isPending} onClick={lower}>
            Lower it now
          </Button>
        ) : null}
      </span>
    </Note>
  );
}
