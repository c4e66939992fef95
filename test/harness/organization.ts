import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { inject } from 'vitest';
import { apiKeys } from '#contract/operations/api-keys.ts';
import { auth } from '#contract/operations/auth.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { systemClock, timestamp } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import type { PermissionScope, Role, Tier } from '#domain/vocabulary.ts';
import { type Client, createClient } from '#shared/client/client.ts';
import { hashPassword } from '#shared/security/passwords.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createTable, type Table } from '#store/table.ts';

const ids = createIds(systemClock);
const PASSWORD = 'correct horse battery staple';

/** The table of the service under test. */
export function testTable(): Table {
  const { dynamodb, region, table, credentials } = inject('service');
  return createTable(table, new DynamoDBClient({ endpoint: dynamodb, region, credentials }));
}

export interface TestOrganization {
  readonly orgId: string;
  readonly admin: { readonly userId: string; readonly email: string; readonly password: string };
  /** Signed in as the admin. */
  readonly client: Client;
  /** The admin's access token. */
  readonly accessToken: string;
  /** A client with an API key of these scopes. */
  withKey(...scopes: PermissionScope[]): Promise<{ client: Client; key: string; keyId: string }>;
  /** A client signed in as another member, of this role. */
  withRole(role: Role): Promise<Client>;
  /** The access token of another member, of this role. */
  signInAs(role: Role): Promise<string>;
}

/** An organization of the test's own, with its admin signed in. */
export async function createTestOrganization(options: { tier?: Tier } = {}): Promise<TestOrganization> {
  const store = createOrganizationStore(testTable());
  const orgId = ids.next();
  const admin = { userId: ids.next(), email: `admin-${randomUUID()}@example.com`, password: PASSWORD };
  const attribution = {
    actor: { type: 'system' as const, id: null, name: 'test' },
    requestId: null,
    ip: null,
    at: Date.now(),
  };
  const newUser = async (id: string, email: string) => ({
    id,
    email,
    name: 'Test user',
    password_hash: await hashPassword(PASSWORD),
    created_at: timestamp(Date.now()),
    last_login_at: null,
  });
  await store.createOrganization(
    { id: orgId, name: 'Test organization', slug: `test-${orgId}`, tier: options.tier ?? 'enterprise' },
    { newUser: await newUser(admin.userId, admin.email) },
    attribution,
  );
  const signInAs = async (role: Role) => {
    const email = `${randomUUID()}@example.com`;
    await store.createUser(await newUser(ids.next(), email), { orgId, role }, attribution);
    return signIn(email);
  };
  const accessToken = await signIn(admin.email);
  const client = connect(accessToken);

  return {
    orgId,
    admin,
    client,
    accessToken,
    async withKey(...scopes) {
      const made = await client.call(apiKeys.operations.createApiKey, {
        params: { org_id: orgId },
        body: { name: `key ${scopes.join(' ')}`, scopes },
      });
      return { client: connect(made.key), key: made.key, keyId: made.id };
    },
    withRole: async (role) => connect(await signInAs(role)),
    signInAs,
  };
}

/** Makes a user a member of another organization, as it is done: invited by its admin, accepted by the user. */
export async function join(
  org: TestOrganization,
  member: { readonly userId: string; readonly client: Client },
  role?: Role,
): Promise<void> {
  const { invitation } = await org.client.call(organizations.operations.addMember, {
    params: { org_id: org.orgId },
    query: { user_id: member.userId, ...(role && { role }) },
  });
  await member.client.call(auth.operations.acceptInvitation, { body: { token: invitation?.token ?? '' } });
}

/** A client whose answers are checked against the contract's schemas. */
export function connect(credential?: string): Client {
  return createClient({ url: inject('service').url, strict: true, ...(credential && { credential }) });
}

async function signIn(email: string): Promise<string> {
  const pair = await connect().call(auth.operations.login, { body: { email, password: PASSWORD } });
  return pair.access_token;
}
