import { auth } from '#contract/operations/auth.ts';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { createSecretReader } from '#shared/security/secrets.ts';
import { createTokens } from '#shared/security/tokens.ts';
import { createCredentialStore } from '#store/credentials.ts';
import { createInvitationStore } from '#store/invitations.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createRateCounterStore } from '#store/rate-counters.ts';
import { createSessionStore } from '#store/sessions.ts';
import { createTable } from '#store/table.ts';
import { authOperations } from './operations.ts';

const config = readConfig(['TABLE_NAME', 'TOKEN_SECRET_ARN', 'ASPM_RATE_LIMIT_FACTOR']);
const table = createTable(config.TABLE_NAME);

export const handler = createHandler(auth, authOperations, {
  organizations: createOrganizationStore(table),
  credentials: createCredentialStore(table),
  sessions: createSessionStore(table),
  invitations: createInvitationStore(table),
  counters: createRateCounterStore(table),
  tokens: createTokens(createSecretReader(config.TOKEN_SECRET_ARN), systemClock),
  clock: systemClock,
  ids: createIds(systemClock),
  rateFactor: config.ASPM_RATE_LIMIT_FACTOR,
});
