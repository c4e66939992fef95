import type { Attribution } from '#domain/actor.ts';
import { systemClock, timestamp } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import type { Tier } from '#domain/vocabulary.ts';
import { readConfig } from '#shared/config.ts';
import { makeApiKey } from '#shared/security/api-key.ts';
import { hashPassword } from '#shared/security/passwords.ts';
import { createCredentialStore } from '#store/credentials.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createTable } from '#store/table.ts';

/** What an installation starts with: the first organization, its admin, and a key for the local command line. */
function stores() {
  const table = createTable(readConfig(['TABLE_NAME']).TABLE_NAME);
  return {
    organizations: createOrganizationStore(table),
    credentials: createCredentialStore(table),
    ids: createIds(systemClock),
  };
}

const attribution = (): Attribution => ({
  actor: { type: 'system', id: null, name: 'bootstrap' },
  requestId: null,
  ip: null,
  at: systemClock.now(),
});

/** Makes the first organization with its admin; changes nothing where the e-mail is known. */
export async function bootstrapOrganization(admin: {
  email: string;
  password: string;
  tier: Tier;
}): Promise<{ orgId: string; userId: string; created: boolean }> {
  const { organizations, ids } = stores();
  const held = await organizations.findUserByEmail(admin.email);
  if (held) {
    const [first] = await organizations.listMemberships(held.id);
    if (!first) throw new Error(`${admin.email} is a member of no organization`);
    return { orgId: first.organization.id, userId: held.id, created: false };
  }
  const at = attribution();
  const orgId = ids.next();
  const userId = ids.next();
  await organizations.createOrganization(
    { id: orgId, name: 'Default organization', slug: 'default', tier: admin.tier },
    {
      newUser: {
        id: userId,
        email: admin.email.toLowerCase(),
        name: 'Administrator',
        password_hash: await hashPassword(admin.password),
        created_at: timestamp(at.at),
        last_login_at: null,
      },
    },
    at,
  );
  return { orgId, userId, created: true };
}

/** An API key for the command line beside the embedded service: all that a scan needs, and no more. */
export async function createLocalApiKey(orgId: string): Promise<string> {
  const { credentials, ids } = stores();
  const made = makeApiKey();
  const at = attribution();
  await credentials.createApiKey(
    {
      id: ids.next(),
      org_id: orgId,
      name: 'local command line',
      handle: made.handle,
      scopes: ['projects:read', 'projects:write', 'scans:read', 'scans:write', 'findings:read'],
      created_at: timestamp(at.at),
      created_by: 'bootstrap',
      expires_at: null,
      last_used_at: null,
      revoked_at: null,
    },
    made.hash,
    at,
  );
  return made.key;
}
