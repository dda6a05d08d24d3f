// SPDX-License-Identifier: Apache-2.0
import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import classes from "./Search.module.css";

interface SearchProps {
  /** What is searched, as a screen reader says it. */
  label: string;
  placeholder: string;
  /** What the page's address says now. */
  words: string | undefined;
  onSearch: (words: string | undefined) => void;
}

/** Words that a list is searched for, handed on when somebody stops typing; undefined: none. */
export function Search({ label, placeholder, words, onSearch }: SearchProps) {
  const [text, setText] = useState(words ?? "");
  const send = useDebouncedCallback((typed: string) => onSearch(typed.trim() || undefined), 200);
  return (
    <TextInput
      type="search"
      className={classes.search}
      aria-label={label}
      placeholder={placeholder}
      leftSection={<IconSearch size={15} />}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        send(event.currentTarget.value);
      }}
    />
  );
}
