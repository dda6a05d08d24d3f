// SPDX-License-Identifier: Apache-2.0
/** Hours of a day on some days: of a queue, and of whatever else is in force at certain times only. */
import { Checkbox, TextInput } from "@mantine/core";
import type { Hours } from "@/ui/format";
import classes from "./forms.module.css";
import { DAYS } from "./queueValues";

interface Props {
  value: Hours;
  /** Of the field, as errors name it. */
  path: string;
  messages: Readonly<Record<string, string>>;
  onChange: (change: Partial<Hours>) => void;
}

/** Typed as text: a browser's field for a time of day knows no 24:00. */
export const HoursFields = ({ value, path, messages, onChange }: Props) => (
  <>
    <div className={classes.pair}>
      <TextInput
        label="From"
        placeholder="08:00"
        value={value.start}
        error={messages[`${path}.start`]}
        onChange={(event) => onChange({ start: event.currentTarget.value })}
      />
      <TextInput
        label="To"
        placeholder="24:00"
        value={value.end}
        error={messages[`${path}.end`] ?? messages[path]}
        onChange={(event) => onChange({ end: event.currentTarget.value })}
      />
    </div>
    <Checkbox.Group
      label="Days"
      value={value.days}
      error={messages[`${path}.days`]}
      onChange={(days) => onChange({ days })}
    >
      <div className="row">
        {DAYS.map((day) => (
          <Checkbox key={day} value={day} label={day} />
        ))}
      </div>
    </Checkbox.Group>
  </>
);
