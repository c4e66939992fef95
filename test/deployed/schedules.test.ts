import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { findings } from '#contract/operations/findings.ts';
import { timestamp } from '#domain/clock.ts';
import { freshAsset, importReport, listFindingsOf } from '#test/harness/importing.ts';
import { createTestOrganization } from '#test/harness/organization.ts';
import { sarifLog } from '#test/harness/sarif.ts';

const SOON_MS = 10_000;

/** Nobody asks for it: the schedule of the template starts the function, each minute. */
it('a suppression ends by itself, once its time is over', async () => {
  const org = await createTestOrganization();
  const asset = await freshAsset(org);
  await importReport(org, asset, sarifLog([{}]));
  const [found] = await listFindingsOf(org, asset);
  const params = { finding_id: found?.id ?? '' };
  const suppressed = await org.client.call(findings.operations.suppressFinding, {
    params,
    body: { reason: 'acceptable_risk', expires_at: timestamp(Date.now() + SOON_MS) },
  });
  expect(suppressed.status).toBe('suppressed');
  let { status } = suppressed;
  while (status === 'suppressed') {
    await sleep(2000);
    ({ status } = await org.client.call(findings.operations.getFinding, { params }));
  }
  expect(status).toBe('reopened');
});
