import * as z from 'zod';
import type { DataFolder } from './data-folder.ts';
import { randomText } from './secrets.ts';

const Settings = z.object({
  ASPM_ADMIN_EMAIL: z.email().default('admin@example.com'),
  ASPM_ADMIN_PASSWORD: z.string().min(8).optional(),
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
  const password = settings.ASPM_ADMIN_PASSWORD ?? randomText(24);
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
  const isNew = created && settings.ASPM_ADMIN_PASSWORD === undefined;
  return { email, ...(isNew && { password }) };
}
