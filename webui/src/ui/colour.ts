// SPDX-License-Identifier: Apache-2.0
/** A custom property holds `light-dark(a, b)`; a canvas needs the colour itself, as it is now. */
export function resolvedColour(name: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value || getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
