// SPDX-License-Identifier: Apache-2.0
import { asProblem } from "@/api/problem";
import { Facts, Note, Skeleton } from "@/ui/blocks";
import { clockText, sentence } from "@/ui/format";
import { plainHelp } from "./form/Help";
import type { Declared, Field } from "./kinds";
import type { Values } from "./objects";
import classes from "./State.module.css";
import { useLearnt, type Learnt } from "./states";
import { holds, valueWords } from "./values";

/** Long lists, such as learnt routes, are cut. */
const MOST_ROWS = 256;

const isNumber = ({ type }: Field): boolean => type === "whole" || type === "port";

/** A value that was learnt. Null is what nobody knows, an empty one what was looked for and not found. */
function Value({ field, value }: { field: Field; value: unknown }) {
  if (value === null || value === undefined) return <span className="dim">not known</span>;
  if (field.type === "rows") return <Rows fields={field.fields} rows={value as readonly Values[]} />;
  const text = valueWords(field, value);
  return text === "" ? <span className="dim">none</span> : <>{text}</>;
}

function Rows({ fields, rows }: { fields: readonly Field[]; rows: readonly Values[] }) {
  if (rows.length === 0) return <span className="dim">none</span>;
  return (
    <table className={classes.rows}>
      <thead>
        <tr>
          {fields.map((field) => (
            <th
              key={field.name}
              scope="col"
              className={isNumber(field) ? "num" : undefined}
              title={plainHelp(field.help)}
            >
              {field.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, MOST_ROWS).map((row, index) => (
          <tr key={index}>
            {fields.map((field) => (
              <td key={field.name} className={isNumber(field) ? "num" : undefined}>
                <Value field={field} value={row[field.name]} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Why what is shown may be untrue by now. */
function Stale({ state }: { state: Learnt }) {
  if (state.stale_reason === null) return null;
  return (
    <Note severity="warning" live>
      {state.at ? `No news since ${clockText(state.at)}. ` : "Nothing is known yet. "}
      {sentence(state.stale_reason)}
    </Note>
  );
}

interface StateProps {
  kind: string;
  declared: Declared;
  id: string;
  object: Values;
}

/** What the router learns about one object, beside its form; nothing where nothing is learnt of such a one. */
export function StateSection({ kind, declared, id, object }: StateProps) {
  const fields = declared.state.filter((field) => holds(field.when, object));
  return fields.length === 0 ? null : <StateOf kind={kind} declared={declared} id={id} fields={fields} />;
}

interface StateOfProps {
  kind: string;
  declared: Declared;
  id: string;
  fields: readonly Field[];
}

/** Told by the stream as it changes, and asked for every few seconds without one. */
function StateOf({ kind, declared, id, fields }: StateOfProps) {
  const { data, error, isPending } = useLearnt(kind, declared, id);
  const plain = fields.filter((field) => field.type !== "rows");
  const lists = fields.filter((field) => field.type === "rows");
  return (
    <section className={classes.section} aria-label="State">
      <div className={classes.head}>
        <h2>State</h2>
        {data?.at ? <span className="dim">at {clockText(data.at)}</span> : null}
      </div>
      {isPending ? <Skeleton lines={plain.length} /> : null}
      {error ? <Note severity="error">{asProblem(error).message}</Note> : null}
      {data ? (
        <>
          <Stale state={data} />
          <div className={data.stale_reason ? classes.stale : undefined}>
            <Facts
              items={plain.map((field) => [
                field.label,
                <Value key={field.name} field={field} value={data.fields[field.name]} />,
              ])}
            />
            {lists.map((field) => (
              <div key={field.name} className={classes.list} role="group" aria-label={field.label}>
                <h3>{field.label}</h3>
                <Value field={field} value={data.fields[field.name]} />
              </div>
            ))}
          </div>
        </>
      ) : null}
    </section>
  );
}
