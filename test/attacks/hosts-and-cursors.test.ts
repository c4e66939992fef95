import { request as openRequest } from 'node:http';
import { beforeAll, describe, expect, inject } from 'vitest';
import { findings } from '#contract/operations/findings.ts';
import { attack } from '#test/harness/attack.ts';
import { seedFindings } from '#test/harness/findings.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

const { listFindings } = findings.operations;
const DAY = 24 * 3600 * 1000;

function statusFor(host: string | null, target = '/api/health'): Promise<number> {
  const { hostname, port } = new URL(inject('service').url);
  return new Promise((resolve, reject) => {
    const headers = { 'x-forwarded-host': 'localhost', ...(host !== null && { host }) };
    const options = { hostname, port, path: target, headers, setHost: false };
    const outgoing = openRequest(options, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    outgoing.once('error', reject);
    outgoing.end();
  });
}

describe('a page that the DNS leads to this machine', () => {
  attack('hosts and cursors', 'got through', 'asks under its own name', async () => {
    const { port } = new URL(inject('service').url);
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'LOCALHOST', `[::1]:${port}`, 'localhost.'])
      expect([host, await statusFor(host)]).toEqual([host, 200]);
    for (const host of [
      'evil.test',
      `evil.test:${port}`,
      `127.0.0.1.evil.test:${port}`,
      `localhost.evil.test`,
      `evil.test@127.0.0.1:${port}`,
      '127.0.0.2',
      '0.0.0.0',
      'host.docker.internal',
      '',
      'a b',
    ])
      for (const target of ['/api/health', '/docs', '/api/openapi.json', '/'])
        expect([host, target, await statusFor(host, target)]).toEqual([host, target, 421]);
  });
});

describe('a cursor', () => {
  let org: TestOrganization;
  beforeAll(async () => {
    org = await createTestOrganization();
    const at = (days: number) => new Date(Date.now() - days * DAY).toISOString();
    await seedFindings(
      org,
      [0, 1, 2, 8, 20, 90, 300].map((days) => ({ created_at: at(days), severity: 'high' as const })),
    );
  });
  const cursorOf = async (
    of: TestOrganization,
    sort: '-created_at' | 'created_at' | '-severity',
    page = 1,
  ) => {
    const list = await of.client.call(listFindings, { query: { sort, per_page: 2, page } });
    return list.pagination.next_cursor ?? '';
  };
  const listBy = (query: Record<string, string>) =>
    request('GET', `/api/findings?${new URLSearchParams(query)}`, { key: org.accessToken });

  attack('hosts and cursors', 'got through', 'that is past what a filter of times leaves', async () => {
    for (const sort of ['created_at', '-created_at', '-severity'] as const) {
      for (const page of [1, 2, 3]) {
        const cursor = await cursorOf(org, sort, page);
        for (const filter of [
          { age_max: '0' },
          { age_max: '5' },
          { age_min: '5' },
          { age_min: '400' },
          { age_min: '9', age_max: '3' },
          { overdue: 'true' },
          { overdue: 'false' },
          { overdue: 'true', age_max: '1' },
          { overdue: 'false', age_min: '100', severity: 'high' },
        ]) {
          const answer = await listBy({ ...filter, sort, cursor } as Record<string, string>);
          expect([sort, page, filter, answer.status]).toEqual([sort, page, filter, 200]);
          // What the cursor leaves is the end of what the list holds without it.
          const whole = await listBy({ ...filter, sort, per_page: '100' } as Record<string, string>);
          const ids = (list: typeof answer) => (list.body.data as { id: string }[]).map(({ id }) => id);
          const rest = await listBy({ ...filter, sort, cursor, per_page: '100' } as Record<string, string>);
          expect(ids(whole).slice(ids(whole).length - ids(rest).length)).toEqual(ids(rest));
        }
      }
    }
  });

  attack('hosts and cursors', 'got through', 'that somebody wrote', async () => {
    const cursor = await cursorOf(org, '-severity');
    const foreign = await createTestOrganization();
    await seedFindings(foreign, [{}, {}, {}, {}]);
    const [payload = '', mac = ''] = cursor.split('.');
    const position = JSON.stringify(['-severity', '000', '2026-01-01T00:00:00.000Z', '0'.repeat(36)]);
    const made = Buffer.from(position).toString('base64url');
    for (const wrong of [
      made,
      `${made}.${mac}`,
      `${payload}.${'A'.repeat(22)}`,
      payload,
      `${payload}.`,
      `.${mac}`,
      `${payload}.${mac}.${mac}`,
      `${payload}A.${mac}`,
      await cursorOf(foreign, '-severity'),
      await cursorOf(org, 'created_at'),
      '[]',
      '%00',
    ]) {
      const answer = await listBy({ sort: '-severity', cursor: wrong });
      expect([wrong, answer.status, answer.body.error?.code]).toEqual([wrong, 400, 'invalid_parameter']);
      const bulk = await request('POST', '/api/findings/bulk', {
        key: org.accessToken,
        body: { filter: {}, update: { status: 'open' }, cursor: wrong },
      });
      expect([wrong, bulk.status, bulk.body.error?.code]).toEqual([wrong, 400, 'validation_error']);
    }
    expect((await listBy({ sort: '-severity', cursor })).status).toBe(200);
  });
});
