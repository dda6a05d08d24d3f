// SPDX-License-Identifier: Apache-2.0
import { NativeSelect } from "@mantine/core";

interface VrfSelectProps {
  description: string;
  /** "": in none. */
  value: string;
  error: string | undefined;
  vrfs: readonly string[];
  onChange: (vrf: string) => void;
}

/** Which VRF something is in; nothing where there is none to choose. */
export function VrfSelect({ description, value, error, vrfs, onChange }: VrfSelectProps) {
  const choices = value === "" || vrfs.includes(value) ? vrfs : [...vrfs, value];
  if (choices.length === 0) return null;
  return (
    <NativeSelect
      label="VRF"
      description={description}
      data={[{ value: "", label: "none" }, ...choices]}
      value={value}
      error={error}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
