// SPDX-License-Identifier: Apache-2.0
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { fieldWords, valueText } from "@/ui/fieldText";

type Fields = Readonly<Record<string, unknown>> | null;

export interface Row {
  field: string;
  label: string;
  mine: string;
  theirs: string;
}

/** The fields in which two versions of an object differ; none where one of them removes it. */
export function differences(kind: string, mine: Fields, theirs: Fields): Row[] {
  if (mine === null || theirs === null) return [];
  const fields = Object.keys(mine).filter(
    (field) => field in theirs && JSON.stringify(mine[field]) !== JSON.stringify(theirs[field]),
  );
  return fields.map((field) => ({
    field,
    label: fieldWords(kind, field),
    mine: valueText(kind, field, mine[field]),
    theirs: valueText(kind, field, theirs[field]),
  }));
}

const columnsOf = (other: string): readonly Column<Row>[] => [
  { id: "field", title: "Field", render: (row) => row.label },
  { id: "mine", title: "Mine", render: (row) => row.mine },
  { id: "theirs", title: other, render: (row) => row.theirs },
];

/** Both values of each field that differs. `other`: whose the second ones are. */
export function BothValues({
  rows,
  other,
  caption,
}: {
  rows: readonly Row[];
  other: string;
  caption: string;
}) {
  return rows.length > 0 ? (
    <SimpleTable caption={caption} columns={columnsOf(other)} rows={rows} rowKey={(row) => row.field} />
  ) : null;
}
