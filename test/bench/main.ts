import { bundles } from './bundles.ts';
import { findings, million } from './findings.ts';
import { ingestMemory } from './ingest-memory.ts';
import { judging } from './judging.ts';
import { largestReport } from './largest-report.ts';
import { pipeline } from './pipeline.ts';
import { policy } from './policy.ts';
import { requests } from './requests.ts';
import { start } from './start.ts';

/**
 * `npm run bench [NAME…]`: prints figures, and how each was taken. They hold for the machine and the
 * moment; compare within one run.
 */
const BENCHES = {
  start,
  bundles,
  pipeline,
  requests,
  findings,
  ingestMemory,
  largestReport,
  million,
  policy,
  judging,
};
/** Takes long: only where it is asked for. */
const APART: readonly string[] = ['million'];
type Name = keyof typeof BENCHES;

const asked = process.argv.slice(2);
const names = (Object.keys(BENCHES) as Name[]).filter((name) =>
  asked.length === 0 ? !APART.includes(name) : asked.includes(name),
);
if (names.length === 0) {
  console.error(`There is no such bench; there are: ${Object.keys(BENCHES).join(', ')}`);
  process.exitCode = 1;
}
for (const name of names) {
  console.log(`\n## ${name}`);
  await BENCHES[name]();
}
