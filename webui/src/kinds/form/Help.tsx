// SPDX-License-Identifier: Apache-2.0

/** A field's help, with what its declaration quotes as code: names of fields and values to choose. */
export const Help = ({ text }: { text: string }) => (
  <>{text.split("`").map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}</>
);

/** The same where there is room for plain text only. */
export const plainHelp = (text: string | undefined): string | undefined => text?.replaceAll("`", "");
