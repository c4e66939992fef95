import type * as z from 'zod';
import type { integrations } from '#contract/operations/integrations.ts';
import type { IntegrationCreate, IntegrationUpdate } from '#contract/schemas/integrations.ts';
import { type Clock, timestamp } from '#domain/clock.ts';
import { isPrivateHost } from '#domain/clone-url.ts';
import type { Ids } from '#domain/ids.ts';
import { attributionOf } from '#http/attribution.ts';
import type { Implementations } from '#http/chain.ts';
import { sortEntries, wholeOrPage } from '#http/paging.ts';
import { HttpValidationError } from '#http/validation.ts';
import { type IntegrationSecrets, makeWebhookSecret, type Vault } from '#shared/security/vault.ts';
import type { IntegrationRecord, IntegrationStore } from '#store/integrations.ts';

export interface IntegrationDependencies {
  readonly integrations: IntegrationStore;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly allowPrivateAddresses: boolean;
}

export const integrationOperations: Implementations<typeof integrations.operations, IntegrationDependencies> =
  {
    async listIntegrations({ caller, query }, { integrations }) {
      return [...wholeOrPage(sortEntries(await integrations.list(caller.orgId), 'name'), query)];
    },

    async createIntegration(input, dependencies) {
      const { caller, body } = input;
      const { integrations, vault, clock, ids } = dependencies;
      if (body.type === 'webhook') checkAddress(body.config.url, dependencies);
      const attribution = attributionOf(input, clock);
      const now = timestamp(attribution.at);
      const { own, secrets } = partsOf(body);
      const record: IntegrationRecord = {
        id: ids.next(),
        name: body.name,
        status: 'active',
        ...own,
        created_at: now,
        updated_at: now,
      };
      const sealed = secrets && (await vault.seal(caller.orgId, record.id, secrets));
      await integrations.create(caller.orgId, record, sealed, attribution);
      return record.type === 'webhook' ? { ...record, secret: secrets?.secret ?? '' } : record;
    },

    async getIntegration({ caller, params }, { integrations }) {
      return integrations.require(caller.orgId, params.integration_id);
    },

    async updateIntegration(input, dependencies) {
      const { caller, params, body } = input;
      const { integrations, clock } = dependencies;
      const held = await integrations.require(caller.orgId, params.integration_id);
      if (held.type === 'webhook' && body.config?.url) checkAddress(body.config.url, dependencies);
      const sealed = await sealChange(caller.orgId, held, body.secrets, dependencies);
      const change = { name: body.name, config: body.config, sealed };
      return integrations.update(caller.orgId, held, change, attributionOf(input, clock));
    },

    async deleteIntegration(input, { integrations, clock }) {
      const { caller, params } = input;
      const held = await integrations.require(caller.orgId, params.integration_id);
      await integrations.delete(caller.orgId, held, attributionOf(input, clock));
      return { id: held.id, deleted: true };
    },
  };

/** What of a new integration is kept as it is, and what is sealed. */
function partsOf(body: z.output<typeof IntegrationCreate>) {
  switch (body.type) {
    case 'github':
      return { own: { type: body.type, config: body.config }, secrets: null };
    case 'jira':
      return { own: { type: body.type, config: body.config }, secrets: withoutNulls(body.secrets) };
    case 'webhook':
      return { own: { type: body.type, config: body.config }, secrets: { secret: makeWebhookSecret() } };
  }
}

/** The secrets that a change leaves, sealed; undefined where it is about none. */
async function sealChange(
  orgId: string,
  held: IntegrationRecord,
  change: z.output<typeof IntegrationUpdate>['secrets'],
  { integrations, vault }: IntegrationDependencies,
): Promise<string | undefined> {
  if (!change || Object.keys(change).length === 0) return undefined;
  if (held.type !== 'jira')
    throw wrongField('secrets', `cannot be set on an integration of the type ${held.type}`);
  const sealed = await integrations.readSealed(orgId, held.id);
  const kept = sealed === null ? {} : await vault.open(orgId, held.id, sealed);
  return vault.seal(orgId, held.id, withoutNulls({ ...kept, ...change }));
}

function withoutNulls(secrets: Readonly<Record<string, string | null | undefined>>): IntegrationSecrets {
  return Object.fromEntries(
    Object.entries(secrets).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** Literal addresses are refused at once; names are checked when they are resolved, at delivery (design 7). */
function checkAddress(url: string, { allowPrivateAddresses }: IntegrationDependencies): void {
  if (!allowPrivateAddresses && isPrivateHost(new URL(url).hostname))
    throw wrongField('config.url', 'must not point at a private, loopback or link-local address');
}

function wrongField(field: string, problem: string): HttpValidationError {
  return new HttpValidationError([
    { loc: ['body', ...field.split('.')], msg: `${field} ${problem}`, type: 'value_error' },
  ]);
}
