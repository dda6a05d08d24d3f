// SPDX-License-Identifier: Apache-2.0
import { EVERY_PAGE, expect, firstQueue, settled, signIn, test } from "./router";

for (const width of [320, 390, 720]) {
  test(`no page scrolls sideways at ${width} px`, async ({ page }) => {
    test.setTimeout(240_000);
    await page.setViewportSize({ width, height: 800 });
    await signIn(page);
    const wide: string[] = [];
    for (const path of [...EVERY_PAGE, await firstQueue(page)]) {
      await page.goto(path);
      await settled(page);
      const over = await page.evaluate(() =>
        Math.max(
          document.documentElement.scrollWidth - window.innerWidth,
          ...Array.from(
            document.querySelectorAll("main, main > div"),
            (element) => element.scrollWidth - element.clientWidth,
          ),
        ),
      );
      if (over > 0) wide.push(`${path}: ${over} px`);
    }
    expect(wide).toEqual([]);
  });
}
