import type { PolicyPlace } from '#contract/schemas/policies.ts';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import type { PolicyKind } from '#shared/policy/kinds.ts';
import { auditWrite } from './audit.ts';
import {
  policiesPartition,
  policyKey,
  policyNameKey,
  policyVersionKey,
  policyVersionPrefix,
  policyVersionsPartition,
} from './keys.ts';
import { PolicyRecord, PolicyVersionRecord } from './policy-record.ts';
import {
  fieldChanges,
  judgingWrites,
  nameWrite,
  notApplied,
  placeChanges,
  placeCheck,
  renameWrites,
  replaceWrite,
  targetCheck,
  unchanged,
  versionWrite,
} from './policy-writes.ts';
import { applied, type Table, type Write } from './table.ts';

/** Tries of a change that meets others of the same policy: each round lets one of them through. */
const ATTEMPTS = 40;

export interface NewPolicy extends PolicyPlace {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly kind: PolicyKind;
  readonly code: string;
  readonly message: string | null;
}

/** What a save changes; what is undefined stays. */
export interface PolicySave {
  readonly name?: string | undefined;
  readonly description?: string | null | undefined;
  readonly place?: PolicyPlace | undefined;
  readonly code?: string | undefined;
  readonly message: string | null;
}

type SaveAction = 'policy.update' | 'policy.scope' | 'policy.restore';

export type PolicyStore = ReturnType<typeof createPolicyStore>;

/** Policies and their versions. Sources and compiled code are kept apart (`policy-code.ts`). */
export function createPolicyStore(table: Table) {
  /** @throws ServiceError not_found */
  async function require(orgId: string, policyId: string): Promise<PolicyRecord> {
    const item = await table.get(policyKey(orgId, policyId));
    if (!item) throw notFound('policy');
    return PolicyRecord.parse(item);
  }

  async function list(orgId: string): Promise<PolicyRecord[]> {
    const items = await table.queryAll({
      KeyConditionExpression: 'pk = :partition',
      ExpressionAttributeValues: { ':partition': policiesPartition(orgId) },
      ConsistentRead: true,
    });
    return items.map((item) => PolicyRecord.parse(item));
  }

  /**
   * Decides on what is there now, and again where someone else was faster.
   * @param decide null: nothing is to be done
   * @throws ServiceError not_found, conflict where it never gets its turn
   */
  async function change<T>(
    orgId: string,
    policyId: string,
    decide: (held: PolicyRecord) => { readonly writes: readonly Write[]; readonly answer: T },
  ): Promise<T> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const { writes, answer } = decide(await require(orgId, policyId));
      if (writes.length === 0 || (await applied(table.transact(writes)))) return answer;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * Math.min(attempt, 20)));
    }
    throw new ServiceError('conflict', 'The policy is being changed by others: try again');
  }

  return {
    require,

    /** Every policy of the organization that is not deleted. */
    list,

    /** What judges findings: all kinds and scopes, the oldest first. Their code: `policy-code.ts`. */
    async listActive(orgId: string): Promise<PolicyRecord[]> {
      return (await list(orgId)).filter(({ active }) => active);
    },

    /** @throws ServiceError already_exists, not_found (what its scope names) */
    async create(orgId: string, policy: NewPolicy, attribution: Attribution): Promise<PolicyRecord> {
      const { message, ...own } = policy;
      const now = timestamp(attribution.at);
      const record: PolicyRecord = {
        ...own,
        active: false,
        version: 1,
        revision: 1,
        created_at: now,
        updated_at: now,
      };
      await table.transact([
        nameWrite(orgId, record),
        {
          Put: {
            Item: { ...policyKey(orgId, record.id), ...record },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
        versionWrite(orgId, record, message, attribution),
        ...targetCheck(orgId, record),
        auditWrite(orgId, attribution, {
          action: 'policy.create',
          target: { type: 'policy', id: record.id },
          changes: {
            name: { after: record.name },
            kind: { after: record.kind },
            ...placeChanges(null, record),
            ...(record.description !== null && { description: { after: record.description } }),
          },
        }),
      ]);
      return record;
    },

    /**
     * The next version, whatever it changes; whether the policy is active stays.
     * @throws ServiceError not_found (also what its scope names), already_exists, conflict
     */
    async save(
      orgId: string,
      policyId: string,
      save: PolicySave,
      action: SaveAction,
      attribution: Attribution,
    ): Promise<PolicyRecord> {
      return change(orgId, policyId, (held) => {
        const next: PolicyRecord = {
          ...held,
          ...save.place,
          name: save.name ?? held.name,
          description: save.description === undefined ? held.description : save.description,
          code: save.code ?? held.code,
          version: held.version + 1,
          revision: held.revision + 1,
          updated_at: timestamp(attribution.at),
        };
        return {
          answer: next,
          writes: [
            replaceWrite(orgId, held, next),
            versionWrite(orgId, next, save.message, attribution),
            ...renameWrites(orgId, held, next),
            ...(save.place ? targetCheck(orgId, next) : []),
            ...(held.active ? judgingWrites(orgId, attribution.at) : []),
            auditWrite(orgId, attribution, {
              action,
              target: { type: 'policy', id: held.id },
              changes: {
                version: { before: held.version, after: next.version },
                ...fieldChanges(held, next),
                ...placeChanges(held, next),
                // The version has it whole.
                ...(held.code !== next.code && { rego: { after: 'changed' } }),
              },
            }),
          ],
        };
      });
    },

    /** Where it already is so, nothing is written. @throws ServiceError not_found, conflict (also of its scope) */
    async setActive(
      orgId: string,
      policyId: string,
      active: boolean,
      attribution: Attribution,
    ): Promise<PolicyRecord> {
      return change(orgId, policyId, (held) => {
        if (held.active === active) return { answer: held, writes: [] };
        const next: PolicyRecord = {
          ...held,
          active,
          revision: held.revision + 1,
          updated_at: timestamp(attribution.at),
        };
        return {
          answer: next,
          writes: [
            replaceWrite(orgId, held, next),
            ...(active ? placeCheck(orgId, next) : []),
            ...judgingWrites(orgId, attribution.at),
            auditWrite(orgId, attribution, {
              action: active ? 'policy.activate' : 'policy.deactivate',
              target: { type: 'policy', id: held.id },
              changes: { active: { before: held.active, after: active }, version: { after: held.version } },
            }),
          ],
        };
      });
    },

    /** Its versions stay. @throws ServiceError not_found, conflict */
    async delete(orgId: string, policyId: string, attribution: Attribution): Promise<void> {
      await change(orgId, policyId, (held) => ({
        answer: undefined,
        writes: [
          { Delete: { Key: policyKey(orgId, policyId), ...unchanged(held) }, otherwise: notApplied },
          { Delete: { Key: policyNameKey(orgId, held.name) } },
          ...(held.active ? judgingWrites(orgId, attribution.at) : []),
          auditWrite(orgId, attribution, {
            action: 'policy.delete',
            target: { type: 'policy', id: held.id },
            changes: { name: { before: held.name }, kind: { before: held.kind } },
          }),
        ],
      }));
    },

    /** Every version, the newest first; also of a deleted policy. @throws ServiceError not_found */
    async listVersions(orgId: string, policyId: string): Promise<PolicyVersionRecord[]> {
      const items = await table.queryAll({
        KeyConditionExpression: 'pk = :partition AND begins_with(sk, :prefix)',
        ExpressionAttributeValues: {
          ':partition': policyVersionsPartition(orgId),
          ':prefix': policyVersionPrefix(policyId),
        },
        ConsistentRead: true,
        ScanIndexForward: false,
      });
      if (items.length === 0) throw notFound('policy');
      return items.map((item) => PolicyVersionRecord.parse(item));
    },

    /** One version; also of a deleted policy. @throws ServiceError not_found */
    async requireVersion(orgId: string, policyId: string, version: number): Promise<PolicyVersionRecord> {
      const item = await table.get(policyVersionKey(orgId, policyId, version));
      if (!item) throw notFound('policy version');
      return PolicyVersionRecord.parse(item);
    },
  };
}
