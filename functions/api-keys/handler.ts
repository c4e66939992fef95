import { apiKeys } from '#contract/operations/api-keys.ts';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { createCredentialStore } from '#store/credentials.ts';
import { createTable } from '#store/table.ts';
import { apiKeyOperations } from './operations.ts';

const config = readConfig(['TABLE_NAME']);

export const handler = createHandler(apiKeys, apiKeyOperations, {
  credentials: createCredentialStore(createTable(config.TABLE_NAME)),
  clock: systemClock,
  ids: createIds(systemClock),
});
