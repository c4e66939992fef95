import { systemClock } from '#domain/clock.ts';
import { readConfig } from '#shared/config.ts';
import { createCounterStore } from '#store/counters.ts';
import { createTriageStore } from '#store/finding-triage.ts';
import { createFindingStore } from '#store/findings.ts';
import { createSuppressionEndStore } from '#store/suppression-ends.ts';
import { createTable } from '#store/table.ts';
import { endSuppressions } from './end-suppressions.ts';

const config = readConfig(['TABLE_NAME', 'COUNTER_LANES']);
const table = createTable(config.TABLE_NAME);
const counters = createCounterStore(table, config.COUNTER_LANES);
const dependencies = {
  ends: createSuppressionEndStore(table),
  findings: createFindingStore(table, counters),
  triage: createTriageStore(table, counters),
  clock: systemClock,
};

export async function handler(): Promise<void> {
  await endSuppressions(dependencies);
}
