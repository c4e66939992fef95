import * as z from 'zod';
import { passwordProblems } from '#shared/security/password-policy.ts';
import type { DataFolder } from './data-folder.ts';
import { randomText } from './secrets.ts';

const Settings = z.object({
  ASPM_ADMIN_EMAIL: z.email().default('admin@example.com'),
  ASPM_ADMIN_PASSWORD: z.string().optional(),
  ASPM_DEFAULT_TIER: z.enum(['free', 'pro', 'enterprise']).default('free'),
});

export interface Admin {
  readonly email: string;
  /** Only where it was generated just now: nothing keeps it. */
  readonly password?: string;
}

/** Makes the first organization with its admin, and a key for the local command line, where they are missing. */
export async function bootstrap(env: NodeJS.ProcessEnv, folder: DataFolder | null): Promise<Admin> {
  const settings = Settings.parse(env);
  const { bootstrapOrganization, createLocalApiKey } = await import('#functions/auth/bootstrap.ts');
  const email = settings.ASPM_ADMIN_EMAIL;
  const given = settings.ASPM_ADMIN_PASSWORD;
  if (given !== undefined) refuseWeak(given, email);
  const password = given ?? randomText(24);
  const { orgId, created } = await bootstrapOrganization({
    email,
    password,
    tier: settings.ASPM_DEFAULT_TIER,
  });
  if (folder) {
    const held = created ? null : await folder.readCredentials();
    if (held?.org_id !== orgId)
      await folder.writeCredentials({ api_key: await createLocalApiKey(orgId), org_id: orgId, email });
  }
  const isNew = created && given === undefined;
  return { email, ...(isNew && { password }) };
}

/** The rules for everybody's password hold for the first one, too. */
function refuseWeak(password: string, email: string): void {
  const [problem] = passwordProblems(password, { email, name: '' });
  if (problem) throw new Error(`ASPM_ADMIN_PASSWORD ${problem}`);
}
