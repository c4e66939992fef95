import { integrations } from '#contract/operations/integrations.ts';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { createHostCheck } from '#shared/network/named-hosts.ts';
import { createSecretReader } from '#shared/security/secrets.ts';
import { createVault } from '#shared/security/vault.ts';
import { createIntegrationStore } from '#store/integrations.ts';
import { createTable } from '#store/table.ts';
import { integrationOperations } from './operations.ts';

const config = readConfig(['TABLE_NAME', 'INTEGRATION_SECRET_ARN', 'ASPM_ALLOW_PRIVATE_ADDRESSES']);

export const handler = createHandler(integrations, integrationOperations, {
  integrations: createIntegrationStore(createTable(config.TABLE_NAME)),
  vault: createVault(createSecretReader(config.INTEGRATION_SECRET_ARN)),
  clock: systemClock,
  ids: createIds(systemClock),
  mayUseHost: createHostCheck(config.ASPM_ALLOW_PRIVATE_ADDRESSES),
});
