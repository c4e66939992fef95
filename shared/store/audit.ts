import { v7 } from 'uuid';
import type { Attribution } from '#domain/actor.ts';
import { timestamp } from '#domain/clock.ts';
import { currentRequestId } from '#shared/request-scope.ts';
import { auditKey } from './keys.ts';
import type { Write } from './table.ts';

export interface AuditedChange {
  /** `<record>.<verb>`, e.g. `project.create`. */
  readonly action: string;
  readonly target: { readonly type: string; readonly id: string };
  /** Before and after of what changed; never a secret. */
  readonly changes?: Record<string, unknown>;
}

/** The audit entry of a change: a write for the same transaction. Entries are never changed or deleted. */
export function auditWrite(orgId: string, attribution: Attribution, change: AuditedChange): Write {
  const id = v7({ msecs: attribution.at });
  return {
    Put: {
      Item: {
        ...auditKey(orgId, id),
        id,
        at: timestamp(attribution.at),
        actor: attribution.actor,
        action: change.action,
        target: change.target,
        changes: change.changes ?? {},
        request_id: attribution.requestId ?? currentRequestId(),
        ip: attribution.ip,
      },
      ConditionExpression: 'attribute_not_exists(pk)',
    },
  };
}
