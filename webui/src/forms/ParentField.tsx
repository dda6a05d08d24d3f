// SPDX-License-Identifier: Apache-2.0
import { Select } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { queueQuery, queueSearchQuery } from "@/api/queries";

interface ParentFieldProps {
  value: string | null;
  ownId: string | null;
  error?: string;
  onChange: (id: string | null) => void;
}

/** A queue chosen by typing part of its name; the list is searched by the router, not by the browser. */
export function ParentField({ value, ownId, error, onChange }: ParentFieldProps) {
  const [typed, setTyped] = useState("");
  const [words] = useDebouncedValue(typed, 150);
  const chosen = useQuery({ ...queueQuery(value ?? ""), enabled: value !== null }).data;
  const text = words === chosen?.name ? "" : words;
  const found = useQuery(queueSearchQuery(text, 20)).data?.items ?? [];
  const options = new Map(found.filter((queue) => queue.id !== ownId).map((queue) => [queue.id, queue.name]));
  if (value !== null) options.set(value, chosen?.name ?? value);
  return (
    <Select
      size="xs"
      label="Parent"
      description="Its limit holds for all of its children together."
      placeholder="none"
      searchable
      clearable
      clearButtonProps={{ "aria-label": "No parent" }}
      nothingFoundMessage="No queue of that name"
      data={[...options].map(([id, name]) => ({ value: id, label: name }))}
      filter={({ options: all }) => all}
      value={value}
      error={error}
      searchValue={typed}
      onSearchChange={setTyped}
      onChange={onChange}
    />
  );
}
