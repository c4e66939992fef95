import { randomUUID } from 'node:crypto';
import { inject } from 'vitest';
import { createTokens } from '#shared/security/tokens.ts';
import { keyHandleKey, rateKey } from '#store/keys.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { openSecondDoor, type SecondDoor } from '#test/harness/second-door.ts';

/** What errors are provoked with. */
export interface Stage {
  readonly org: TestOrganization;
  /** An organization, and an address, that have sent more than any tier allows. */
  readonly crowded: TestOrganization;
  readonly crowdedAddress: string;
  readonly expiredToken: string;
  readonly keys: Readonly<Record<'admin' | 'revoked' | 'expired' | 'ticketsOnly' | 'scansOnly', string>>;
  readonly door: SecondDoor;
}

/** For documentation alone (RFC 5737): nobody sends from there. */
const CROWDED_ADDRESS = '198.51.100.7';

export async function setStage(): Promise<Stage> {
  const [org, crowded] = await Promise.all([createTestOrganization(), createTestOrganization()]);
  const [admin, revoked, expired, ticketsOnly, scansOnly] = await Promise.all([
    org.withKey('admin'),
    org.withKey('admin'),
    org.withKey('admin'),
    org.withKey('tickets:read'),
    org.withKey('scans:read'),
  ]);
  await request('DELETE', `/api/orgs/${org.orgId}/api-keys/${revoked.keyId}`, { key: org.accessToken });
  await testTable().update({
    Key: keyHandleKey(expired.key.slice('svc_ak_'.length, 'svc_ak_'.length + 16)),
    UpdateExpression: 'SET expires_at_time = :past, expires_at = :past',
    ExpressionAttributeValues: { ':past': '2020-01-01T00:00:00.000Z' },
  });
  await Promise.all([crowd(crowded.orgId), crowd(`ADDRESS#${CROWDED_ADDRESS}`)]);
  const past = createTokens(async () => inject('service').tokenSecret, { now: () => Date.now() - 7_200_000 });
  const session = { userId: org.admin.userId, sessionId: randomUUID(), orgId: org.orgId };
  return {
    org,
    crowded,
    crowdedAddress: CROWDED_ADDRESS,
    expiredToken: await past.signAccess(session),
    keys: {
      admin: admin.key,
      revoked: revoked.key,
      expired: expired.key,
      ticketsOnly: ticketsOnly.key,
      scansOnly: scansOnly.key,
    },
    door: await openSecondDoor(),
  };
}

/** As if so much had come from the pool in every window of this hour and the next. */
export async function crowd(pool: string): Promise<void> {
  const windows = ['h', ...Array.from({ length: 60 }, (_, minute) => `m${minute}`)];
  const hour = Math.floor(Date.now() / 3_600_000);
  for (const at of [hour, hour + 1])
    await testTable().update({
      Key: rateKey(pool, at),
      UpdateExpression: `ADD ${windows.map((window) => `${window} :many`).join(', ')}`,
      ExpressionAttributeValues: { ':many': 1_000_000_000 },
    });
}
