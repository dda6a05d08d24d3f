// SPDX-License-Identifier: Apache-2.0
import { NativeSelect, TextInput } from "@mantine/core";
import { Fold } from "./Fold";
import classes from "./forms.module.css";
import { understoodRate } from "./RatePair";
import { optionalRate, type Messages, type TotalValues } from "./queueValues";

interface TotalFieldsProps {
  values: TotalValues;
  onChange: (values: TotalValues) => void;
  messages: Messages;
  typeNames: readonly string[];
}

type RateName = "max_limit_bps" | "limit_at_bps" | "burst_limit_bps" | "burst_threshold_bps";
const RATES: readonly (readonly [RateName, string, string])[] = [
  ["max_limit_bps", "Total limit", "no limit for both together"],
  ["limit_at_bps", "Total guaranteed rate", "no guarantee"],
  ["burst_limit_bps", "Total burst rate", "no burst"],
  ["burst_threshold_bps", "Total burst threshold", "none"],
];
const TEXTS: readonly (readonly ["burst_time_ms" | "priority" | "bucket_size_ms", string])[] = [
  ["burst_time_ms", "Total burst time"],
  ["priority", "Total priority, 1 (first) to 8"],
  ["bucket_size_ms", "Total bucket size"],
];

/** One budget that upload and download share, beside the limits of each. */
export function TotalFields({ values, onChange, messages, typeNames }: TotalFieldsProps) {
  const problemOf = (name: RateName): string | undefined => {
    const parsed = optionalRate(values[name]);
    return messages[`total.${name}`] ?? (parsed.ok ? undefined : parsed.message);
  };
  return (
    <Fold
      title="Both directions together"
      summary={values.max_limit_bps || "no limit"}
      open={Object.keys(messages).some((name) => name.startsWith("total"))}
    >
      <div className={classes.pair}>
        {RATES.map(([name, label, none]) => (
          <TextInput
            key={name}
            label={label}
            description={understoodRate(values[name], none)}
            value={values[name]}
            error={problemOf(name)}
            onChange={(event) => onChange({ ...values, [name]: event.currentTarget.value })}
          />
        ))}
        {TEXTS.map(([name, label]) => (
          <TextInput
            key={name}
            label={label}
            value={values[name]}
            error={messages[`total.${name}`]}
            onChange={(event) => onChange({ ...values, [name]: event.currentTarget.value })}
          />
        ))}
        <NativeSelect
          label="Total queue type"
          data={[...new Set([...typeNames, values.queue_type])]}
          value={values.queue_type}
          error={messages["total.queue_type"]}
          onChange={(event) => onChange({ ...values, queue_type: event.currentTarget.value })}
        />
      </div>
    </Fold>
  );
}
