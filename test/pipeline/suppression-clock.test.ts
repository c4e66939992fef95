import { describe, expect, it } from 'vitest';
import { findings as contract } from '#contract/operations/findings.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { toOpaque } from '#domain/ids.ts';
import { endSuppressions } from '#functions/suppression-clock/end-suppressions.ts';
import { createCounterStore } from '#store/counters.ts';
import { createTriageStore } from '#store/finding-triage.ts';
import { createFindingStore } from '#store/findings.ts';
import { createSuppressionEndStore } from '#store/suppression-ends.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { createTestOrganization, testTable } from '#test/harness/organization.ts';

const table = testTable();
const counters = createCounterStore(table, 1);
const ends = createSuppressionEndStore(table);
const HOUR = 3_600_000;

/** The clock at a time; its cursor is the test's own, because the service's goes with the real time. */
function tick(at: number, cursor: { hour: number | null }) {
  return endSuppressions({
    ends: {
      ...ends,
      readCursor: async () => cursor.hour,
      moveCursor: async (hour) => {
        cursor.hour = hour;
      },
    },
    findings: createFindingStore(table, counters),
    triage: createTriageStore(table, counters),
    clock: { now: () => at },
  });
}

describe('the end of a suppression', () => {
  it('reopens the finding then and not before, and says so', async () => {
    const org = await createTestOrganization();
    const { records } = await seedFindings(org, [{}, {}, {}]);
    const [first, second, third] = records.map(({ id }) => ({ finding_id: toOpaque('finding', id) }));
    if (!first || !second || !third) throw new Error('nothing was seeded');
    const now = Date.now();
    const suppress = (params: typeof first, at: number) =>
      org.client.call(contract.operations.suppressFinding, {
        params,
        body: { reason: 'acceptable_risk', expires_at: new Date(at).toISOString() },
      });
    const statusOf = async (params: typeof first) =>
      (await org.client.call(contract.operations.getFinding, { params })).status;
    await suppress(first, now + 2 * HOUR);
    await suppress(second, now + 5 * HOUR);
    await suppress(third, now + 2 * HOUR);
    // Its end moves with it.
    await suppress(third, now + 9 * HOUR);

    const cursor = { hour: null };
    await tick(now + 2 * HOUR - 1, cursor);
    expect(await statusOf(first)).toBe('suppressed');
    await tick(now + 2 * HOUR, cursor);
    expect(await statusOf(first)).toBe('reopened');
    expect(await statusOf(third)).toBe('suppressed');
    const log = await org.client.call(organizations.operations.listAuditLog, {
      query: { target_id: records[0]?.id ?? '', action: 'finding.reopen' },
    });
    expect(log.data).toMatchObject([{ actor: { type: 'system', name: 'suppression clock' } }]);

    // Long after: what ended in between is found, hour by hour.
    await tick(now + 30 * HOUR, cursor);
    expect([await statusOf(second), await statusOf(third)]).toEqual(['reopened', 'reopened']);
    const summary = await org.client.call(contract.operations.getFindingSummary);
    expect(summary.by_status).toMatchObject({ reopened: 3, suppressed: 0 });
    for (let hour = Math.floor(now / HOUR); hour <= Math.floor(now / HOUR) + 30; hour += 1)
      expect(
        (await ends.listEnded(hour, now + 40 * HOUR, 100)).filter(({ orgId }) => orgId === org.orgId),
      ).toEqual([]);
  });

  it('comes to nothing where somebody reopened it before', async () => {
    const org = await createTestOrganization();
    const { records } = await seedFindings(org, [{}]);
    const params = { finding_id: toOpaque('finding', records[0]?.id ?? '') };
    const at = Date.now() + 2 * HOUR;
    const expires_at = new Date(at).toISOString();
    await org.client.call(contract.operations.suppressFinding, {
      params,
      body: { reason: 'false_positive', expires_at },
    });
    await org.client.call(contract.operations.updateFinding, { params, body: { status: 'confirmed' } });
    await tick(at + 1000, { hour: null });
    expect((await org.client.call(contract.operations.getFinding, { params })).status).toBe('confirmed');
  });
});
