import type { apiKeys } from '#contract/operations/api-keys.ts';
import { authorName } from '#domain/actor.ts';
import { type Clock, timestamp } from '#domain/clock.ts';
import { notFound } from '#domain/errors.ts';
import type { Ids } from '#domain/ids.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { wholeOrPage } from '#http/paging.ts';
import { HttpValidationError } from '#http/validation.ts';
import { apiKeyPrefix, makeApiKey } from '#shared/security/api-key.ts';
import type { ApiKeyRecord, CredentialStore } from '#store/credentials.ts';

export interface ApiKeyDependencies {
  readonly credentials: CredentialStore;
  readonly clock: Clock;
  readonly ids: Ids;
}

export const apiKeyOperations: Implementations<typeof apiKeys.operations, ApiKeyDependencies> = {
  /** Oldest first. */
  async listApiKeys({ caller, query }, { credentials }) {
    return wholeOrPage(await credentials.listApiKeys(caller.orgId), query).map(present);
  },

  async createApiKey(input, { credentials, clock, ids }) {
    const { caller, body } = input;
    const attribution = attributionOf(input, clock);
    const expiresAt = body.expires_at ? Date.parse(body.expires_at) : null;
    if (expiresAt !== null && expiresAt <= attribution.at)
      throw new HttpValidationError([
        { loc: ['body', 'expires_at'], msg: 'expires_at must be in the future', type: 'value_error' },
      ]);
    const made = makeApiKey();
    const record: ApiKeyRecord = {
      id: ids.next(),
      org_id: caller.orgId,
      name: body.name,
      handle: made.handle,
      scopes: [...new Set(body.scopes)],
      created_at: timestamp(attribution.at),
      created_by: authorName(attribution.actor),
      expires_at: expiresAt === null ? null : timestamp(expiresAt),
      last_used_at: null,
      revoked_at: null,
    };
    await credentials.createApiKey(record, made.hash, attribution);
    return { ...present(record), key: made.key };
  },

  async revokeApiKey(input, { credentials, clock }) {
    const { caller, params } = input;
    const record = await credentials.revokeApiKey(caller.orgId, params.key_id, attributionOf(input, clock));
    if (!record) throw notFound('api key');
    return present(record);
  },
};

function present(record: ApiKeyRecord) {
  const { org_id: _, handle, ...shown } = record;
  return { ...shown, prefix: apiKeyPrefix(handle) };
}
