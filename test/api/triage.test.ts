import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { findings } from '#contract/operations/findings.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { toOpaque } from '#domain/ids.ts';
import { FINDING_STATUSES } from '#domain/vocabulary.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import { revisitPartition } from '#store/keys.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { type RawAnswer, request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';

const {
  listFindings,
  updateFinding,
  suppressFinding,
  reopenFinding,
  getFinding,
  getFindingSummary,
  bulkUpdateFindings,
} = findings.operations;
let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

async function seeded(change: Partial<FindingRecord> = {}) {
  const { records, asset } = await seedFindings(org, [change]);
  const [record] = records;
  if (!record) throw new Error('nothing was seeded');
  return {
    record,
    asset,
    id: toOpaque('finding', record.id),
    params: { finding_id: toOpaque('finding', record.id) },
  };
}
const update = (params: { finding_id: string }, body: object) =>
  org.client.call(updateFinding, { params, body });
const auditOf = async (id: string) =>
  (await org.client.call(organizations.operations.listAuditLog, { query: { target_id: id, per_page: 50 } }))
    .data;
const statusCounts = async () => (await org.client.call(getFindingSummary)).by_status;
const marks = async ({ asset_id, scanner }: FindingRecord) =>
  testTable().queryAll({
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': revisitPartition(org.orgId, asset_id, scanner) },
  });

const fieldOf = (body: RawAnswer['body']) =>
  (body.error?.details as { field: string }[] | undefined)?.[0]?.field;

describe('PATCH of a finding', () => {
  it('sets any status, moves the counts with it, and says so in the audit log', async () => {
    const { params, record } = await seeded();
    for (const status of [...FINDING_STATUSES.filter((one) => one !== 'open'), 'open' as const]) {
      const before = await statusCounts();
      const shown = await update(params, { status });
      expect(shown).toMatchObject({ status });
      expect(shown.resolved_at !== null).toBe(status === 'resolved');
      expect(shown.suppression).toEqual(
        status === 'suppressed' ? { reason: null, comment: null, expires_at: null } : null,
      );
      expect((await org.client.call(getFinding, { params })).status).toBe(status);
      expect((await statusCounts())[status]).toBe(before[status] + 1);
    }
    const entries = await auditOf(record.id);
    expect(entries).toHaveLength(FINDING_STATUSES.length);
    expect(entries.at(-1)).toMatchObject({
      action: 'finding.update',
      changes: { status: { before: 'open', after: 'triaged' } },
    });
  });

  it('does nothing where the status is the same', async () => {
    const { params, record } = await seeded();
    const before = await org.client.call(getFinding, { params });
    expect(await update(params, { status: 'open' })).toEqual(before);
    expect(await update(params, {})).toEqual(before);
    expect(await auditOf(record.id)).toHaveLength(0);
  });

  it('takes an assignee by id or e-mail, and notes; null clears both', async () => {
    const { params } = await seeded();
    const assignee = toOpaque('user', org.admin.userId);
    expect(await update(params, { assignee: org.admin.email, notes: 'look here' })).toMatchObject({
      assignee,
      notes: 'look here',
      status: 'open',
    });
    expect(await update(params, { assignee: null })).toMatchObject({ assignee: null, notes: 'look here' });
    expect(await update(params, { assignee, notes: null })).toMatchObject({ assignee, notes: null });
  });

  it('refuses assignees who are no members, and odd values by name', async () => {
    const { id } = await seeded();
    const patch = async (body: unknown) => {
      const { status, body: answer } = await request('PATCH', `/api/findings/${id}`, {
        key: org.accessToken,
        body,
      });
      return [status, answer.error?.code, fieldOf(answer)];
    };
    const stranger = await createTestOrganization();
    expect(await patch({ assignee: stranger.admin.email })).toEqual([404, 'not_found', 'assignee']);
    expect(await patch({ assignee: toOpaque('user', stranger.admin.userId) })).toEqual([
      404,
      'not_found',
      'assignee',
    ]);
    expect(await patch({ assignee: 'nobody@example.com' })).toEqual([404, 'not_found', 'assignee']);
    expect(await patch({ assignee: 'nobody' })).toEqual([400, 'validation_error', 'assignee']);
    expect(await patch({ status: 'closed' })).toEqual([400, 'validation_error', 'status']);
    expect(await patch({ notes: '' })).toEqual([400, 'validation_error', 'notes']);
    const { body } = await request('PATCH', `/api/findings/${id}`, {
      key: org.accessToken,
      body: { status: 'closed' },
    });
    expect(body.error?.message).toBe(`status must be one of ${FINDING_STATUSES.join(', ')}`);
  });

  it('loses none of many changes at once', async () => {
    const { params, record } = await seeded();
    const before = await statusCounts();
    const answers = await Promise.allSettled(
      ['triaged', 'confirmed', 'in_progress'].flatMap((status) => [
        update(params, { status }),
        update(params, { notes: status }),
      ]),
    );
    expect(answers.every(({ status }) => status === 'fulfilled')).toBe(true);
    const shown = await org.client.call(getFinding, { params });
    const after = await statusCounts();
    expect(after[shown.status] - before[shown.status]).toBe(1);
    expect(before.open - after.open).toBe(1);
    const entries = await auditOf(record.id);
    expect(entries).toHaveLength(6);
    expect(entries.filter(({ changes }) => 'notes' in changes)).toHaveLength(3);
  });
});

describe('suppress and reopen', () => {
  it('keep the reason and the time, and let it go again', async () => {
    const { params } = await seeded();
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const body = { reason: 'false_positive' as const, comment: 'a test file', expires_at };
    expect(await org.client.call(suppressFinding, { params, body })).toMatchObject({
      status: 'suppressed',
      suppression: body,
      sla_due_at: null,
    });
    expect(await org.client.call(reopenFinding, { params })).toMatchObject({
      status: 'reopened',
      suppression: null,
    });
    const again = await request('POST', `/api/findings/${params.finding_id}/reopen`, {
      key: org.accessToken,
    });
    expect([again.status, again.body.error?.code]).toEqual([409, 'conflict']);
  });

  it('work without a body, and refuse an end in the past', async () => {
    const { params, id } = await seeded();
    expect((await org.client.call(suppressFinding, { params })).suppression).toEqual({
      reason: null,
      comment: null,
      expires_at: null,
    });
    const { status, body } = await request('POST', `/api/findings/${id}/suppress`, {
      key: org.accessToken,
      body: { reason: 'false_positive', expires_at: '2020-01-01T00:00:00Z' },
    });
    expect([status, body.error?.code, fieldOf(body)]).toEqual([400, 'validation_error', 'expires_at']);
  });
});

describe('decisions that the scanner contradicts', () => {
  it('are marked for its next run, until they no longer are', async () => {
    const { params, record } = await seeded();
    await update(params, { status: 'resolved' });
    expect(await marks(record)).toMatchObject([{ sk: record.id }]);
    await update(params, { status: 'confirmed' });
    expect(await marks(record)).toEqual([]);
    const gone = await seeded({ reported: false, status: 'resolved' });
    await update(gone.params, { status: 'open' });
    expect(await marks(gone.record)).toMatchObject([{ sk: gone.record.id }]);
  });
});

describe('a batch by id', () => {
  it('goes on by cursor as any list does', async () => {
    const { records } = await seedFindings(
      org,
      Array.from({ length: 7 }, (_, nth) => ({ severity: nth % 2 ? 'low' : 'high' })),
    );
    const id = records.map((one) => toOpaque('finding', one.id)).join(',');
    for (const sort of ['-severity', 'severity', 'created_at', '-created_at'] as const) {
      const whole = await org.client.call(listFindings, { query: { id, sort } });
      expect(whole.pagination).toMatchObject({ total: 7, next_cursor: null });
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page: typeof whole = await org.client.call(listFindings, {
          query: { id, sort, per_page: 3, ...(cursor && { cursor }) },
        });
        expect(page.pagination.total).toBe(7);
        seen.push(...page.data.map((one) => one.id));
        cursor = page.pagination.next_cursor;
      } while (cursor && seen.length < 20);
      expect(seen).toEqual(whole.data.map((one) => one.id));
    }
  });
});

describe('bulk updates', () => {
  it('change every finding that is named, and tell of each', async () => {
    const { records } = await seedFindings(
      org,
      Array.from({ length: 40 }, () => ({})),
    );
    const ids = records.map(({ id }) => toOpaque('finding', id));
    const unknown = toOpaque('finding', randomUUID());
    const before = await statusCounts();
    const result = await org.client.call(bulkUpdateFindings, {
      body: { finding_ids: [...ids, unknown], update: { status: 'triaged', notes: 'in bulk' } },
    });
    expect(result).toMatchObject({ updated: 40, unchanged: 0, failed: 1, total: 41, next_cursor: null });
    expect(result.results.at(-1)).toEqual({ id: unknown, outcome: 'not_found' });
    expect((await statusCounts()).triaged - before.triaged).toBe(40);
    const again = await org.client.call(bulkUpdateFindings, {
      body: { finding_ids: ids, update: { status: 'triaged' } },
    });
    expect(again).toMatchObject({ updated: 0, unchanged: 40 });
    expect(await auditOf(records[0]?.id ?? '')).toHaveLength(1);
  });

  it('go through all that a filter matches, part by part', async () => {
    const { asset } = await seedFindings(
      org,
      Array.from({ length: 620 }, (_, n) => ({ severity: n % 2 ? 'low' : 'high' })),
    );
    const filter = { asset_id: toOpaque('asset', asset.id) };
    const suppression = { reason: 'used_in_tests' as const };
    const first = await org.client.call(bulkUpdateFindings, { body: { filter, update: { suppression } } });
    expect(first).toMatchObject({ updated: 500, total: 620 });
    const second = await org.client.call(bulkUpdateFindings, {
      body: { filter, update: { suppression }, cursor: first.next_cursor ?? '' },
    });
    // What the first part suppressed sorts after the cursor again: it is told as unchanged.
    expect(first.updated + second.updated).toBe(620);
    expect((await org.client.call(getFindingSummary, { query: filter })).by_status).toMatchObject({
      open: 0,
      suppressed: 620,
    });
  });

  it.each([
    [{ update: { status: 'open' } }, 'finding_ids'],
    [{ finding_ids: [], update: { status: 'open' } }, 'finding_ids'],
    [{ filter: { severity: ['worst'] }, update: {} }, 'filter.severity.0'],
    [{ filter: {}, update: { status: 'open', suppression: { reason: 'false_positive' } } }, 'update.status'],
    [{ filter: {} }, 'update'],
    [{ filter: {}, cursor: 'garbage', update: {} }, 'cursor'],
    // Passed over, a misspelt filter would change everything.
    [{ filter: { severities: ['low'] }, update: {} }, 'filter'],
  ])('refuse %j', async (body, field) => {
    const answer = await request('POST', '/api/findings/bulk', { key: org.accessToken, body });
    expect([answer.status, fieldOf(answer.body)]).toEqual([400, field]);
  });
});
