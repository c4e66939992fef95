import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { assetCountersKey, policyKey, userKey } from '#store/keys.ts';
import { type RawAnswer, request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import type { SecondDoor } from '#test/harness/second-door.ts';
import { id, name, newPolicy, newRepository, send } from './provocations.ts';
import type { Stage } from './stage.ts';

type Outrun = (org: TestOrganization, door: SecondDoor) => Promise<RawAnswer>;

/** What is asked: method, path and perhaps a body. */
type Ask = readonly [method: string, path: string, body?: unknown];

/**
 * A change that is tried again more often than requests of one machine meet: a rival writes before each of
 * its transactions, and so is faster every time.
 * @param target the id that tells its transactions
 */
async function outrun(
  { store, url }: SecondDoor,
  org: TestOrganization,
  target: string,
  rival: () => Promise<unknown>,
  [method, path, body]: Ask,
): Promise<RawAnswer> {
  const beFirst = async (call: { command: string; input: string }) => {
    if (call.command === 'TransactWriteItems' && call.input.includes(target)) await rival();
    return null;
  };
  return store.during(beFirst, () =>
    request(method, path, { key: org.accessToken, url, ...(body !== undefined && { body }) }),
  );
}

/** A policy that others save again and again while it is asked to change. */
function policyOutrun(
  ask: (policy: string, org: TestOrganization) => Ask,
  prepare: (policy: string, org: TestOrganization) => Promise<unknown> = async () => null,
): Outrun {
  return async (org, door) => {
    const policy = id(await newPolicy(org, 'B'));
    await prepare(policy, org);
    const uuid = fromOpaque('policy', policy) ?? '';
    const save = () =>
      testTable().update({
        Key: policyKey(org.orgId, uuid),
        UpdateExpression: 'SET revision = revision + :one',
        ExpressionAttributeValues: { ':one': 1 },
      });
    return outrun(door, org, uuid, save, ask(policy, org));
  };
}

/** Somebody whom the organization has invited, and the token. */
async function invited(org: TestOrganization) {
  const other = await createTestOrganization();
  const answer = await send(org, 'POST', `/api/orgs/${org.orgId}/members?user_id=${other.admin.userId}`);
  return { other, token: (answer.body.invitation as { token: string }).token };
}

/** Changes an account again and again while somebody is asked to join with it. */
const changeAccount = (userId: string, name: string, value: unknown) => () =>
  testTable().update({
    Key: userKey(userId),
    UpdateExpression: 'SET #name = :value',
    ExpressionAttributeNames: { '#name': name },
    ExpressionAttributeValues: { ':value': value },
  });

/** By operation: its `conflict`, which comes when all its tries were in vain. */
export const RIVALS: Readonly<Record<string, Outrun>> = {
  async deleteAsset(org, door) {
    const asset = await newRepository(org);
    const ingest = () =>
      testTable().update({
        Key: assetCountersKey(org.orgId, asset),
        UpdateExpression: 'ADD version :one',
        ExpressionAttributeValues: { ':one': 1 },
      });
    return outrun(door, org, asset, ingest, ['DELETE', `/api/assets/${toOpaque('asset', asset)}`]);
  },
  async createUser(org, door) {
    const { userId, email } = (await createTestOrganization()).admin;
    // Never the password that was read: what is there can't be voided.
    const rival = async () => {
      await changeAccount(userId, 'password_set_by', 'another admin')();
      await changeAccount(userId, 'password_hash', name())();
    };
    return outrun(door, org, userId, rival, ['POST', '/api/organization/users', { email, name: 'x' }]);
  },
  async acceptInvitation(org, door) {
    const { other, token } = await invited(org);
    const { userId } = other.admin;
    const rival = changeAccount(userId, 'password_set_by', 'another admin');
    return outrun(door, other, userId, rival, ['POST', '/api/auth/invitations/accept', { token }]);
  },
  async acceptInvitationWithPassword(org, door) {
    const { other, token } = await invited(org);
    const { userId } = other.admin;
    const rival = changeAccount(userId, 'passwords', { id: { hash: 'x', generation: 0 } });
    const body = { token, password: `${name()} ${name()}` };
    return outrun(door, other, userId, rival, ['POST', '/api/auth/invitations/password', body]);
  },
  activatePolicy: policyOutrun((policy) => ['POST', `/api/policies/${policy}/activate`]),
  deactivatePolicy: policyOutrun(
    (policy) => ['POST', `/api/policies/${policy}/deactivate`],
    (policy, org) => send(org, 'POST', `/api/policies/${policy}/activate`),
  ),
  restorePolicyVersion: policyOutrun((policy) => ['POST', `/api/policies/${policy}/versions/1/restore`]),
  updatePolicyScope: policyOutrun((policy) => [
    'PATCH',
    `/api/policies/${policy}/scope`,
    { scope: 'organization' },
  ]),
  deletePolicy: policyOutrun((policy) => ['DELETE', `/api/policies/${policy}`]),
  deleteOpenPolicy: policyOutrun((policy, { orgId }) => [
    'DELETE',
    `/api/orgs/${orgId}/open-policies/${fromOpaque('policy', policy)}`,
  ]),
};

/** The answers of all of them: each waits between its tries. */
export async function askAmongRivals({ org, door }: Stage): Promise<ReadonlyMap<string, RawAnswer>> {
  const asked = Object.entries(RIVALS).map(async ([id, ask]) => [id, await ask(org, door)] as const);
  return new Map(await Promise.all(asked));
}
