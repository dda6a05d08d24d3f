// SPDX-License-Identifier: Apache-2.0
/** Time zones by their names in the tz database, as the browser knows them; UTC first. */
export const zones = (): string[] => [
  "UTC",
  ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC"),
];
