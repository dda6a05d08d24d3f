// SPDX-License-Identifier: Apache-2.0
import classes from "./Spark.module.css";
import { SPARK_HEIGHT_PX, SPARK_WIDTH_PX, sparkPaths, type SparkValues } from "./sparkPaths";

/** The last minutes at a glance: download above the line, upload below it, on one scale, as in the charts. */
export function Spark({ label, ...values }: SparkValues & { label: string }) {
  const paths = sparkPaths(values);
  return (
    <svg
      className={classes.spark}
      width={SPARK_WIDTH_PX}
      height={SPARK_HEIGHT_PX}
      viewBox={`0 0 ${SPARK_WIDTH_PX} ${SPARK_HEIGHT_PX}`}
      role="img"
      aria-label={label}
    >
      <path className={classes.download} d={paths.download} />
      <path className={classes.upload} d={paths.upload} />
      <path className={classes.zero} d={paths.zero} />
    </svg>
  );
}
