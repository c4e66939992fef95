import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

const { operations } = policies;
const FOLDER = fileURLToPath(new URL('../../docs/policies/', import.meta.url));
const read = (file: string) => readFileSync(`${FOLDER}${file}`, 'utf8');

let org: TestOrganization;
let findingId: string;
beforeAll(async () => {
  org = await createTestOrganization();
  const { records } = await seedFindings(org, [
    {
      severity: 'low',
      epss_score: 0.001,
      location: { path: 'services/payments/test/db.py', start_line: 3, end_line: 3 },
    },
  ]);
  await org.client.call(projects.operations.createProject, { body: { name: 'Payments' } });
  findingId = toOpaque('finding', records[0]?.id ?? '');
});

it.each([
  ['triage-exploited-or-likely.rego', 'triage', 'reject', 'severity low, in test code'],
  ['priority-by-sla.rego', 'priority', 'p4', 'severity low'],
  ['ownership-by-path.rego', 'ownership', '@example/payments', 'matches services/payments/**'],
  ['project-by-path.rego', 'project', 'payments', 'lies in services/payments/'],
  // No scan brought this finding: it is nothing new.
  ['pull-request-gate.rego', 'pr_scan', 'pass', undefined],
])('%s is saved, tested, activated, and judges a finding', async (file, kind, decision, reason) => {
  const { client } = await org.withKey('policies:read', 'policies:write', 'findings:read');
  const body = { name: `${file} ${randomUUID()}`, kind, rego: read(file) };
  const made = await client.call(operations.createPolicy, { body });
  expect(made).toMatchObject({ kind, version: 1, active: false, warnings: [] });

  const tested = await client.call(operations.testOpenPolicy, {
    params: { org_id: org.orgId, policy_id: fromOpaque('policy', made.id) ?? '' },
    body: {},
  });
  expect(tested.tests.length).toBeGreaterThanOrEqual(3);
  expect(new Set(tested.tests.map(({ outcome }) => outcome))).toEqual(new Set(['pass']));

  const active = await client.call(operations.activatePolicy, { params: { policy_id: made.id } });
  expect(active).toMatchObject({ active: true, version: 1 });

  const evaluated = await client.call(operations.evaluatePolicy, {
    body: { policy_id: made.id, finding_ids: [findingId] },
  });
  expect(evaluated).toMatchObject({
    data: [
      {
        finding_id: findingId,
        decision,
        reasons: reason === undefined ? [] : [reason],
        policy_id: made.id,
        version: 1,
        error: null,
      },
    ],
  });
});
