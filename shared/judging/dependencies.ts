import { fileURLToPath } from 'node:url';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { createBulk } from '#shared/policy/bulk.ts';
import { policyFiles } from '#shared/policy/files.ts';
import { createReactor } from '#shared/policy/reactor.ts';
import type { CounterStore } from '#store/counters.ts';
import { createFindingStore } from '#store/findings.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createPolicyStore } from '#store/policies.ts';
import { createPolicyCodeStore } from '#store/policy-code.ts';
import { createPolicyRunStore } from '#store/policy-runs.ts';
import { createProjectStore } from '#store/projects.ts';
import type { Table } from '#store/table.ts';

/** What judging works with: the same at ingest and when policies change. */
export function judgeDependencies(table: Table, counters: CounterStore, assetsDir: string) {
  const files = policyFiles(
    assetsDir === '' ? undefined : fileURLToPath(new URL(assetsDir, import.meta.url)),
  );
  return {
    policies: createPolicyStore(table),
    policyCode: createPolicyCodeStore(table),
    policyRuns: createPolicyRunStore(table),
    findings: createFindingStore(table, counters),
    projects: createProjectStore(table, counters),
    organizations: createOrganizationStore(table),
    bulk: createBulk(files),
    reactor: createReactor(files),
    clock: systemClock,
    ids: createIds(systemClock),
  };
}
