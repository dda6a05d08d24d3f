// SPDX-License-Identifier: Apache-2.0
import { Button, Modal } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Dispute, OpenDispute } from "@/api/elsewhere";
import { meQuery } from "@/api/queries";
import { agoText } from "@/ui/format";
import { BothValues, differences } from "./BothValues";

function whatHappened({ theirs }: Dispute, user: string): string {
  if (theirs === null) return "It was committed or discarded since you opened it.";
  const what = theirs.new === null ? "staged its removal" : "staged another change of it";
  return `${user} in another window ${what}${theirs.staged_at ? ` ${agoText(theirs.staged_at)}` : ""}.`;
}

/** Asks whose change of an object stays; both values are shown. Closing it keeps what is staged. */
export default function DisputeDialog({ dispute }: { dispute: OpenDispute }) {
  const user = useQuery(meQuery).data?.username ?? "Somebody";
  const { mine, theirs, answer } = dispute;
  const name = (mine.new?.["name"] as string | undefined) ?? theirs?.name ?? mine.id ?? "";
  const rows = differences(mine.kind, mine.new, theirs?.new ?? null);
  return (
    <Modal opened onClose={() => answer("theirs")} title={`${name} was changed in another window`} size="lg">
      <div className="stack">
        <p>{whatHappened(dispute, user)}</p>
        {mine.new === null ? <p>Your change removes it.</p> : null}
        <BothValues caption="Both changes" rows={rows} other="Other window" />
        <div className="row">
          <Button onClick={() => answer("mine")}>Keep mine</Button>
          <Button data-autofocus onClick={() => answer("theirs")}>
            Keep theirs
          </Button>
        </div>
      </div>
    </Modal>
  );
}
