import * as z from 'zod';
import { Slug } from '#contract/schemas/common.ts';
import { systemClock, timestamp } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { randomText } from '#infra/local/secrets.ts';
import { readConfig } from '#shared/config.ts';
import { hashPassword } from '#shared/security/passwords.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import type { Table } from '#store/table.ts';

const Wanted = z.object({ slug: Slug, email: z.email().max(254).toLowerCase() });

/**
 * Makes an organization with its first admin: a new user, because one who is known has a password that the
 * operator knows nothing of. Answers the exit code.
 */
export async function createOrganization(table: Table, slugText: string, emailText: string): Promise<number> {
  const wanted = Wanted.safeParse({ slug: slugText, email: emailText });
  if (!wanted.success) {
    console.error(wanted.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n'));
    return 2;
  }
  const { slug, email } = wanted.data;
  const ids = createIds(systemClock);
  const at = systemClock.now();
  const password = randomText(24);
  const newUser = {
    id: ids.next(),
    email,
    name: 'Administrator',
    password_hash: await hashPassword(password),
    created_at: timestamp(at),
    last_login_at: null,
  };
  const tier = readConfig(['ASPM_DEFAULT_TIER']).ASPM_DEFAULT_TIER;
  await createOrganizationStore(table).createOrganization(
    { id: ids.next(), name: slug, slug, tier },
    { newUser },
    { actor: { type: 'system', id: null, name: 'operator' }, requestId: null, ip: null, at },
  );
  console.log(`${slug} is made (${tier}). Its admin is ${email}, password ${password}`);
  return 0;
}
