// SPDX-License-Identifier: Apache-2.0
import type { Declared } from "./kinds";

/** A kind's page by its name: "Routes". */
export function pageTitle(declared: Pick<Declared, "page">): string {
  const words = declared.page.replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}
