import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { findings } from '#contract/operations/findings.ts';
import { policies } from '#contract/operations/policies.ts';
import { median, spread } from './figures.ts';
import { addAsset, type Bench, importReport, startBench, zippedReport } from './imports.ts';
import { REGO } from './policy.ts';

const REPORT = 10_000;
const ROUNDS = 3;

const { createPolicy, activatePolicy, deactivatePolicy } = policies.operations;

/** What an active policy adds to an import of 10,000 findings, and how long judging them anew takes. */
export async function judging(): Promise<void> {
  const bench = await startBench();
  try {
    const { id } = await bench.client.call(createPolicy, {
      body: { name: 'Triage', kind: 'triage', rego: REGO },
    });
    const params = { policy_id: id };
    const seconds = {
      without: [] as number[],
      active: [] as number[],
      anew: [] as number[],
      undone: [] as number[],
    };
    for (let round = 0; round < ROUNDS; round += 1) {
      seconds.without.push(await importOne(bench, `without ${round}`));
      const judged = (round * 2 + 1) * REPORT;
      seconds.anew.push(await until(bench, judged, () => bench.client.call(activatePolicy, { params })));
      seconds.active.push(await importOne(bench, `active ${round}`));
      seconds.undone.push(await until(bench, 0, () => bench.client.call(deactivatePolicy, { params })));
    }
    console.log(
      `Imports of ${REPORT} findings until processed (store in memory), ${ROUNDS} of each, in turn:`,
    );
    console.log(`  no active policy                ${spread(seconds.without, 's', 2)}`);
    console.log(`  a triage policy, active         ${spread(seconds.active, 's', 2)}`);
    console.log(
      `  ratio of the medians            ${(median(seconds.active) / median(seconds.without)).toFixed(2)}`,
    );
    const each = (all: readonly number[], more: number) =>
      all.map((time, round) => ((round * 2 + more) * REPORT) / time);
    console.log('Findings judged anew and written, a second, until the last one shows it:');
    console.log(`  policy activated                ${spread(each(seconds.anew, 1), '/s')}`);
    console.log(`  policy deactivated              ${spread(each(seconds.undone, 2), '/s')}`);
  } finally {
    await bench.cloud.stop();
  }
}

async function importOne(bench: Bench, name: string): Promise<number> {
  const asset = await addAsset(bench, name);
  return (await importReport(bench, asset, zippedReport(REPORT, name))) / 1000;
}

/** Seconds until so many findings are triaged or suppressed: the policy decides about each. */
async function until({ client }: Bench, decided: number, change: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await change();
  for (;;) {
    const { by_status } = await client.call(findings.operations.getFindingSummary);
    if (by_status.triaged + by_status.suppressed === decided) return (performance.now() - began) / 1000;
    if (performance.now() - began > 600_000) throw new Error('The re-evaluation does not end');
    await sleep(200);
  }
}
