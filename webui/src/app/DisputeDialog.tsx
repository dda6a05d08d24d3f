// SPDX-License-Identifier: Apache-2.0
import { Button, Modal } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { Dispute, OpenDispute } from "@/api/elsewhere";
import { meQuery } from "@/api/queries";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { fieldWords, valueText } from "@/ui/fieldText";
import { agoText } from "@/ui/format";

interface Row {
  field: string;
  label: string;
  mine: string;
  theirs: string;
}

/** The fields in which the two differ; all of mine where nothing is known of the other. */
export function differences({ mine, theirs }: Dispute): Row[] {
  if (mine.new === null || theirs === null || theirs.new === null) return [];
  const [own, other] = [mine.new, theirs.new];
  const fields = Object.keys(own).filter(
    (field) => field in other && JSON.stringify(own[field]) !== JSON.stringify(other[field]),
  );
  return fields.map((field) => ({
    field,
    label: fieldWords(mine.kind, field),
    mine: valueText(field, own[field]),
    theirs: valueText(field, other[field]),
  }));
}

function whatHappened({ theirs }: Dispute, user: string): string {
  if (theirs === null) return "It was committed or discarded since you opened it.";
  const what = theirs.new === null ? "staged its removal" : "staged another change of it";
  return `${user} in another window ${what}${theirs.staged_at ? ` ${agoText(theirs.staged_at)}` : ""}.`;
}

const COLUMNS: readonly Column<Row>[] = [
  { id: "field", title: "Field", render: (row) => row.label },
  { id: "mine", title: "Mine", render: (row) => row.mine },
  { id: "theirs", title: "Other window", render: (row) => row.theirs },
];

/** Asks whose change of an object stays; both values are shown. Closing it keeps what is staged. */
export default function DisputeDialog({ dispute }: { dispute: OpenDispute }) {
  const user = useQuery(meQuery).data?.username ?? "Somebody";
  const { mine, theirs, answer } = dispute;
  const name = (mine.new?.["name"] as string | undefined) ?? theirs?.name ?? mine.id ?? "";
  const rows = differences(dispute);
  return (
    <Modal opened onClose={() => answer("theirs")} title={`${name} was changed in another window`} size="lg">
      <div className="stack">
        <p>{whatHappened(dispute, user)}</p>
        {mine.new === null ? <p>Your change removes it.</p> : null}
        {rows.length > 0 ? (
          <SimpleTable caption="Both changes" columns={COLUMNS} rows={rows} rowKey={(row) => row.field} />
        ) : null}
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
